"""What `ebmkit schema` says to an editor."""

import json

from tests.cli.typed import ebmkit


def test_what_the_schema_tells_an_editor():
    import jsonschema

    schema = json.loads(ebmkit("schema").stdout)
    langevin = next(
        rule["then"]["properties"]
        for rule in schema["$defs"]["sampler"]["then"]["allOf"]
        if rule["if"]["properties"]["use"]["const"] == "langevin"
    )
    assert langevin["steps"]["description"]
    assert langevin["steps"]["default"] == 100
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"extends": "base.yaml", "seed": 1})
    assert validator.is_valid({"ebmkit": 1, "model": "mlp", "sampler": "$chain", "parts": {"chain": "langevin"}})
    assert not validator.is_valid({"ebmkit": 1})
