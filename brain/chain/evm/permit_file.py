"""Permits: what the owner or the signer of a brain lets another account send, as files.

A file is the typed data that is signed (EIP-712), in the JSON that wallets take, with a member
`signature` beside its `types`, `primaryType`, `domain` and `message`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, NoReturn

from ...errors import InvalidInput
from ..evidence import storage_layout
from . import abi
from .signing.permit_json import (
    DOMAIN_NAME,
    DOMAIN_VERSION,
    PERMIT_TYPES,
    PermitKind,
    PermitValue,
    permit_typed_data,
)

MAX_SIGNATURE_BYTES = 4096
"""Bytes of a signature; that of a key has 65, that of a wallet contract 65 for each owner."""

_SIGNATURE_MEMBER = "signature"
_DECIMAL = re.compile(r"[0-9]{1,20}", re.ASCII)
_WORD_HEX = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_ADDRESS_HEX = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_SIGNATURE_HEX = re.compile(rf"0x(?:[0-9a-fA-F]{{2}}){{1,{MAX_SIGNATURE_BYTES}}}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPermit:
    """Lets anybody make commitment `seq` of a brain, while its epoch is `epoch`."""

    brain_id: bytes
    snapshot: bytes
    parent: bytes
    seq: int
    epoch: int
    deadline: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPermit:
    """Lets anybody open a brain for `owner`; `salt` is the id of the brain."""

    owner: str
    salt: bytes
    snapshot: bytes
    deadline: int

    @property
    def brain_id(self) -> bytes:
        """The id that the brain gets in the contract."""
        return storage_layout.brain_id(bytes.fromhex(self.owner[2:]), self.salt)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignerPermit:
    """Lets anybody set the signer of a brain, 0x0 for none, while its epoch is `epoch`."""

    brain_id: bytes
    signer: str
    epoch: int
    deadline: int


Permit = CommitPermit | OpenPermit | SignerPermit
"""A permit; `brain_id` is the id in the contract, `deadline` the last second since 1970."""


def encode_permit_call(permit: Permit, signature: bytes) -> bytes:
    """Return the calldata that a permit allows."""
    match permit:
        case CommitPermit():
            return abi.encode_signed_call(
                abi.COMMIT_FOR_SELECTOR,
                permit.brain_id,
                permit.snapshot,
                permit.parent,
                permit.deadline,
                signature=signature,
            )
        case OpenPermit():
            return abi.encode_signed_call(
                abi.OPEN_FOR_SELECTOR,
                permit.owner,
                permit.salt,
                permit.snapshot,
                permit.deadline,
                signature=signature,
            )
        case SignerPermit():
            return abi.encode_signed_call(
                abi.SET_SIGNER_FOR_SELECTOR,
                permit.brain_id,
                permit.signer,
                permit.deadline,
                signature=signature,
            )


class PermitFile(NamedTuple):
    """A permit for a contract on a chain; `signature` is empty until it is signed."""

    permit: Permit
    chain_id: int
    contract: str
    signature: bytes = b""

    def typed_data(self) -> dict[str, Any]:
        """Return what is signed, as EIP-712 typed data."""
        kind, values = _signed_fields(self.permit)
        return permit_typed_data(kind, values, self.chain_id, self.contract)

    def document(self) -> dict[str, Any]:
        """Return the JSON object of the file."""
        typed_data = self.typed_data()
        if self.signature:
            typed_data[_SIGNATURE_MEMBER] = "0x" + self.signature.hex()
        return typed_data


def parse_permit(document: Mapping[str, Any]) -> PermitFile:
    """Return a permit from the JSON object of a file.

    Raises `InvalidInput` (`bad_permit`).
    """
    names = {"types", "primaryType", "domain", "message"}
    if document.keys() | {_SIGNATURE_MEMBER} != names | {_SIGNATURE_MEMBER}:
        _refuse_permit("it is not typed data (EIP-712) with a signature")
    domain = _parse_members(document, "domain")
    if (domain.get("name"), domain.get("version")) != (DOMAIN_NAME, DOMAIN_VERSION):
        _refuse_permit(f"it is not for {DOMAIN_NAME}, version {DOMAIN_VERSION}")
    read = PermitFile(
        _parse_message(document["primaryType"], _parse_members(document, "message")),
        _parse_number(domain, "chainId"),
        _parse_address(domain, "verifyingContract"),
        parse_signature(document[_SIGNATURE_MEMBER]) if _SIGNATURE_MEMBER in document else b"",
    )
    expected = read.typed_data()
    # Some wallets leave out the type of the domain, which is the same for all.
    types = {"EIP712Domain": expected["types"]["EIP712Domain"], **_parse_members(document, "types")}
    if types != expected["types"]:
        _refuse_permit("its types are not those of the contract")
    for member, found in (("domain", domain), ("message", _parse_members(document, "message"))):
        if found.keys() != expected[member].keys():
            _refuse_permit(f"its {member} has other members than {', '.join(expected[member])}")
    return read


def parse_signature(value: object) -> bytes:
    """Return a signature from 0x… text. Raises `InvalidInput` (`bad_permit`)."""
    if not isinstance(value, str) or not _SIGNATURE_HEX.fullmatch(value):
        _refuse_permit("its signature is not 0x and bytes in hex")
    return bytes.fromhex(value[2:])


def _parse_message(kind: object, message: Mapping[str, Any]) -> Permit:
    match kind:
        case "Commit":
            return CommitPermit(
                brain_id=_parse_word(message, "brainId"),
                snapshot=_parse_word(message, "snapshot"),
                parent=_parse_word(message, "parent"),
                seq=_parse_number(message, "seq"),
                epoch=_parse_number(message, "epoch"),
                deadline=_parse_number(message, "deadline"),
            )
        case "Open":
            return OpenPermit(
                owner=_parse_address(message, "owner"),
                salt=_parse_word(message, "salt"),
                snapshot=_parse_word(message, "snapshot"),
                deadline=_parse_number(message, "deadline"),
            )
        case "SetSigner":
            return SignerPermit(
                brain_id=_parse_word(message, "brainId"),
                signer=_parse_address(message, "signer"),
                epoch=_parse_number(message, "epoch"),
                deadline=_parse_number(message, "deadline"),
            )
        case _:
            _refuse_permit(f"its primaryType is not one of {', '.join(PERMIT_TYPES)}")


_KINDS: dict[type[Permit], PermitKind] = {
    CommitPermit: "Commit",
    OpenPermit: "Open",
    SignerPermit: "SetSigner",
}


def _signed_fields(permit: Permit) -> tuple[PermitKind, Mapping[str, PermitValue]]:
    """Return the kind and the fields of a permit by their names in the contract."""
    values = {field.name: getattr(permit, field.name) for field in fields(permit)}
    if "brain_id" in values:
        values["brainId"] = values.pop("brain_id")
    return _KINDS[type(permit)], values


def _parse_members(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = document[name]
    if not isinstance(value, dict):
        _refuse_permit(f"its {name} is not an object")
    return value


def _parse_number(values: Mapping[str, Any], name: str) -> int:
    value = values.get(name)
    if isinstance(value, str) and _DECIMAL.fullmatch(value):  # as some wallets write numbers
        value = int(value)
    if type(value) is not int or not 0 <= value < 1 << 64:
        _refuse_permit(f"its {name} is not a number below 2^64")
    return value


def _parse_word(values: Mapping[str, Any], name: str) -> bytes:
    value = values.get(name)
    if not isinstance(value, str) or not _WORD_HEX.fullmatch(value):
        _refuse_permit(f"its {name} is not 0x and 32 bytes in hex")
    return bytes.fromhex(value[2:])


def _parse_address(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not _ADDRESS_HEX.fullmatch(value):
        _refuse_permit(f"its {name} is not an address")
    return value.lower()


def _refuse_permit(reason: str) -> NoReturn:
    raise InvalidInput(
        f"the permit cannot be read: {reason}",
        code="bad_permit",
        hint="give the file that `brain chain authorize` wrote",
    )
