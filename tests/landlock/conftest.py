from support.without_namespaces import world  # noqa: F401
