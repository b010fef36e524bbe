"""Carillon: a job scheduler in your own AWS account. The code that its functions and its command line share."""

__version__ = "0.1.0"
