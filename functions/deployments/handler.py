"""Before each deployment that changes the shard count: refuse a lower one."""

from carillon import bootstrap

handler = bootstrap.deployments()
