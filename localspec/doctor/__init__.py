"""The examination of an installation: versions, devices, folders, network, and advice on speed.

The native library is only loaded in a child process: one built for another processor dies of an illegal instruction,
which is a finding to report, not a crash.
"""
