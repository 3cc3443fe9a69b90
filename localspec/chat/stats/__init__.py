"""The screen of figures: what is read of the store, what of it is shown, and how; no Textual here."""
