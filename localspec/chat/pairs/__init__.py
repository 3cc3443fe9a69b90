"""The pairs in the app: the catalogue, downloads under way, the list the reader filters, and offers."""
