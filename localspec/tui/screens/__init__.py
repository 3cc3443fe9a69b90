"""Screens route events to widgets; what matters is in ``chat.session``."""
