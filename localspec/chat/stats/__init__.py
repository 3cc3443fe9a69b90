"""The screen of figures without Textual: reading the store, and the rows and pages to show."""
