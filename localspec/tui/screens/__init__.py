"""The screens, one a module. They route events to widgets; the state is in ``chat``."""
