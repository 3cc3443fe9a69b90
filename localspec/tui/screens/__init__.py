"""The screens, one a module: they route events to widgets, and the state is in ``chat``."""
