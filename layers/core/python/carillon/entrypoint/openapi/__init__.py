"""The description of the interface as an OpenAPI 3.1 document, made from the routing table and the wire models.

Nothing here is loaded before somebody asks for the document: a cold start pays nothing for it.

A new route needs two things: its line in the routing table, and its `Operation` in the table of its area here (the
modules `jobs`, `runs`, `tenants` and `service`). What follows from the routing table (parameters, scope, what every
request can be refused for) is not repeated in an operation.
"""
