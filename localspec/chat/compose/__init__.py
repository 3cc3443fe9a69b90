"""A message while it is being written: its text, pastes and attachments, completion, and the messages sent before.

Plain objects without a screen; the front ends draw them and hand over what they make.
"""
