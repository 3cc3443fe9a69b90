"""The settings screen's model, and the settings of the screen itself."""
