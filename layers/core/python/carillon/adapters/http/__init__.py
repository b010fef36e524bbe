"""Calling targets over HTTP/1.1: pinned addresses, verified TLS, one deadline, bounded answers."""
