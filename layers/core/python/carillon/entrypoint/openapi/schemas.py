"""JSON schemas of what is read (the wire models) and of what is answered (the types in `carillon.answers`)."""

from collections.abc import Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core.core_schema import WithDefaultSchema

from carillon.answers import DURATION_PATTERN, Form
from carillon.domain.durations import format_duration
from carillon.entrypoint.openapi.operation import Json
from carillon.entrypoint.wire.fields import UNBUILT, Document

_PLACE = "#/components/schemas/"
_PLAIN: Mapping[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
}


class _Quiet(GenerateJsonSchema):
    """Without titles made of names, and with durations as texts."""

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """A default as a client would write it; that of a whole object is told by its members."""
        made = super().default_schema(schema)
        if isinstance(made.get("default"), dict):
            del made["default"]
        elif made.get("pattern") == DURATION_PATTERN and isinstance(made.get("default"), int):
            made["default"] = format_duration(made["default"])
        elif made.get("default", "") in (None, "") and not _may_be_null(made):
            made.pop("default", None)
        return made


def schemas_of_models(models: Iterable[type[Document]]) -> dict[str, Json]:
    """The schemas of documents and of what they consist of, by name. What is not built yet is left out."""
    wanted = sorted(set(models), key=lambda model: model.__name__)
    _, made = models_json_schema(
        [(model, "validation") for model in wanted], ref_template=_PLACE + "{model}", schema_generator=_Quiet
    )
    schemas: dict[str, Json] = made["$defs"]
    unbuilt = {name for name, schema in schemas.items() if _is_unbuilt(schema)}
    return {name: _published(schema, unbuilt) for name, schema in schemas.items() if name not in unbuilt}


def schema_of_patch(name: str, schemas: Mapping[str, Json]) -> Json:
    """The schema of a merge patch (RFC 7396) of a document: any member may be missing, or null if it may be removed.

    Objects that are merged are patches as well: those with members of their own that the document names directly, but
    for those that are replaced whole.
    """
    document = schemas[name]
    members = {member: _patched(member, schema, schemas) for member, schema in document["properties"].items()}
    for member in members.keys() - {*document.get("required", ())}:
        members[member] = _or_null(members[member])
    return {"type": "object", "additionalProperties": False, "properties": members}


def ref(name: str) -> Json:
    """The reference to a schema."""
    return {"$ref": _PLACE + name}


def schema_of_answer(hint: Any, found: dict[str, Json]) -> Json:
    """The schema of a type; those of named objects are put into `found`, and referred to.

    Raises:
        TypeError: there is no schema of such a type.
    """
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if is_typeddict(hint):
        return _schema_of_object(hint, found)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of_answer(argument, found) for argument in arguments]}
    if origin is Annotated:
        forms = [form.schema for form in arguments[1:] if isinstance(form, Form)]
        return _formed(schema_of_answer(arguments[0], found), forms)
    if origin is NotRequired:
        return schema_of_answer(arguments[0], found)
    if origin is Literal:
        return {"enum": [*arguments]}
    if origin is list:
        return {"type": "array", "items": schema_of_answer(arguments[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of_answer(arguments[1], found)}
    raise TypeError(f"no JSON schema of {hint}")


def _formed(schema: Json, forms: Iterable[Mapping[str, Any]]) -> Json:
    made = dict(schema)
    for form in forms:
        made |= form
    return made


def _schema_of_object(hint: Any, found: dict[str, Json]) -> Json:
    name: str = hint.__name__
    if name not in found:
        found[name] = {}  # known before its members are looked at
        members = get_type_hints(hint, include_extras=True)
        found[name] = {
            "type": "object",
            "description": (hint.__doc__ or "").strip(),
            "properties": {member: schema_of_answer(inner, found) for member, inner in members.items()},
            "required": [member for member in members if member in hint.__required_keys__],
        }
    return ref(name)


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return any(choice.get("type") == "null" for choice in schema.get("anyOf", ()))


def _is_unbuilt(schema: Mapping[str, Any]) -> bool:
    """Whether an object needs a member that is not built yet."""
    members = schema.get("properties", {})
    return any(UNBUILT in members[name] for name in schema.get("required", ()))


def _published(schema: Any, unbuilt: set[str]) -> Any:
    """A schema without what is not built."""
    if isinstance(schema, list):
        kept = [each for each in schema if not (isinstance(each, dict) and _name(each) in unbuilt)]
        return [_published(each, unbuilt) for each in kept]
    if isinstance(schema, dict):
        return {name: _published(inner, unbuilt) for name, inner in schema.items() if not _hides(inner)}
    return schema


def _hides(schema: Any) -> bool:
    return isinstance(schema, dict) and UNBUILT in schema


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).removeprefix(_PLACE)


REPLACED_WHOLE = ("schedule", "retry", "on_failure", "payload")
"""Members of a job whose inner members only make sense together."""


def _merged(kind: Json, schemas: Mapping[str, Json]) -> Json:
    """The schema of one of the kinds that a member may be: an object that is merged is a patch."""
    return schema_of_patch(_name(kind), schemas) if schemas.get(_name(kind), {}).get("properties") else kind


def _patched(member: str, schema: Json, schemas: Mapping[str, Json]) -> Json:
    """The schema of a member in a patch. A default does not apply there, but it is a good example."""
    wanted = {key: value for key, value in schema.items() if key != "default"}
    if schema.get("default") is not None:
        wanted["examples"] = [schema["default"]]
    inner = schemas.get(_name(wanted), {})
    if inner.get("properties") and member not in REPLACED_WHOLE:
        return schema_of_patch(_name(wanted), schemas)
    if "oneOf" in wanted and member not in REPLACED_WHOLE:
        # Without its type, which a patch need not name, a patch may be one of several kinds.
        kinds = [schema_of_patch(_name(kind), schemas) for kind in wanted.pop("oneOf")]
        return wanted | {"anyOf": kinds}
    if "anyOf" in wanted and member not in REPLACED_WHOLE:
        wanted["anyOf"] = [_merged(kind, schemas) for kind in wanted["anyOf"]]
    if isinstance(values := wanted.get("additionalProperties"), dict):
        wanted |= {"additionalProperties": _or_null(values)}
    return wanted


def _or_null(schema: Json) -> Json:
    """A schema that lets a null pass as well."""
    if _may_be_null(schema) or not schema.keys() - {"description"}:
        return schema
    annotations = {key: schema[key] for key in ("description", "examples") if key in schema}
    rest = {key: value for key, value in schema.items() if key not in annotations}
    return annotations | {"anyOf": [rest, {"type": "null"}]}
