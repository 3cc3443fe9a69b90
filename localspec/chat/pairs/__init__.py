"""The pairs as the app has them: what there is, what is being fetched, what is offered. Knows no widgets."""
