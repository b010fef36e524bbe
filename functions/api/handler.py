"""For each HTTP request: check the key, call one use case, answer in JSON or with a problem."""

from carillon import bootstrap

handler = bootstrap.api()
