"""A message while it is being written: what stands in the text, what marks in it stand for, what was sent before.

Plain objects without a screen; the front ends draw them and hand over what they make.
"""
