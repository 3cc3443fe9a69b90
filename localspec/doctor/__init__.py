"""What is installed, what it sees, what it would use, and what would make it faster.

The native library is only ever loaded in a child process here: one built for another processor dies of an
illegal instruction, and that is a finding to be told, not a crash.
"""
