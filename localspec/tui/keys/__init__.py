"""Actions, the keys bound to them, and the tour that explains them."""
