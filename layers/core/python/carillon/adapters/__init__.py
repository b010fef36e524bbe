"""What stands behind the ports: AWS, HTTP, and versions of all of it in memory."""
