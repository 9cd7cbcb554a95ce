"""Our declarations of NVTX against NVIDIA's headers, wherever those can be had."""

import re
import shutil
import subprocess

import pytest

import nvtx_kit

# Ours, NVIDIA's.
NUMBERS = {
    "NVTX_TABLE_CALLBACKS": "NVTX_ETID_CALLBACKS", "NVTX_TABLE_VERSION": "NVTX_ETID_VERSIONINFO",
    "NVTX_MODULE_CORE": "NVTX_CB_MODULE_CORE", "NVTX_MODULE_CORE2": "NVTX_CB_MODULE_CORE2",
    "NVTX_MESSAGE_NONE": "NVTX_MESSAGE_UNKNOWN", "NVTX_MESSAGE_CHAR": "NVTX_MESSAGE_TYPE_ASCII",
    "NVTX_MESSAGE_WIDE": "NVTX_MESSAGE_TYPE_UNICODE",
    "NVTX_MESSAGE_REGISTERED": "NVTX_MESSAGE_TYPE_REGISTERED",
    "NVTX_PAYLOAD_NONE": "NVTX_PAYLOAD_UNKNOWN",
    "NVTX_PAYLOAD_UINT64": "NVTX_PAYLOAD_TYPE_UNSIGNED_INT64",
    "NVTX_PAYLOAD_INT64": "NVTX_PAYLOAD_TYPE_INT64",
    "NVTX_PAYLOAD_DOUBLE": "NVTX_PAYLOAD_TYPE_DOUBLE",
    "NVTX_PAYLOAD_UINT32": "NVTX_PAYLOAD_TYPE_UNSIGNED_INT32",
    "NVTX_PAYLOAD_INT32": "NVTX_PAYLOAD_TYPE_INT32",
    "NVTX_PAYLOAD_FLOAT": "NVTX_PAYLOAD_TYPE_FLOAT",
    "NVTX_COLOUR_ARGB": "NVTX_COLOR_ARGB",
    "NVTX_RESOURCE_THREAD": "NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE",
    "NVTX_NOT_TRACKED": "NVTX_NO_PUSH_POP_TRACKING",
    "NVTX_VERSION_OURS": "NVTX_VERSION",
}
CORE = {
    "MARK_EX": "MarkEx", "MARK_A": "MarkA", "MARK_W": "MarkW", "START_EX": "RangeStartEx",
    "START_A": "RangeStartA", "START_W": "RangeStartW", "END": "RangeEnd",
    "PUSH_EX": "RangePushEx", "PUSH_A": "RangePushA", "PUSH_W": "RangePushW", "POP": "RangePop",
    "NAME_CATEGORY_A": "NameCategoryA", "NAME_CATEGORY_W": "NameCategoryW",
    "NAME_THREAD_A": "NameOsThreadA", "NAME_THREAD_W": "NameOsThreadW"}
CORE2 = {
    "MARK_EX": "DomainMarkEx", "START_EX": "DomainRangeStartEx", "END": "DomainRangeEnd",
    "PUSH_EX": "DomainRangePushEx", "POP": "DomainRangePop",
    "RESOURCE_CREATE": "DomainResourceCreate", "RESOURCE_DESTROY": "DomainResourceDestroy",
    "NAME_CATEGORY_A": "DomainNameCategoryA", "NAME_CATEGORY_W": "DomainNameCategoryW",
    "REGISTER_STRING_A": "DomainRegisterStringA", "REGISTER_STRING_W": "DomainRegisterStringW",
    "DOMAIN_CREATE_A": "DomainCreateA", "DOMAIN_CREATE_W": "DomainCreateW",
    "DOMAIN_DESTROY": "DomainDestroy", "INITIALIZE": "Initialize"}
NUMBERS.update(("NVTX_CORE_" + ours, "NVTX_CBID_CORE_" + theirs) for ours, theirs in CORE.items())
NUMBERS.update(("NVTX_CORE2_" + ours, "NVTX_CBID_CORE2_" + theirs)
               for ours, theirs in CORE2.items())

# Our record, NVIDIA's; our field, NVIDIA's.
FIELDS = {
    ("struct nvtx_attributes", "nvtxEventAttributes_t"): {
        "version": "version", "bytes": "size", "category": "category",
        "colour_type": "colorType", "colour": "color", "payload_type": "payloadType",
        "payload.uint64": "payload.ullValue", "payload.int64": "payload.llValue",
        "payload.real": "payload.dValue", "payload.uint32": "payload.uiValue",
        "payload.int32": "payload.iValue", "payload.single": "payload.fValue",
        "message_type": "messageType", "message.text": "message.ascii",
        "message.wide": "message.unicode", "message.registered": "message.registered"},
    ("struct nvtx_resource", "nvtxResourceAttributes_t"): {
        "version": "version", "bytes": "size", "type": "identifierType",
        "identifier.pointer": "identifier.pValue", "identifier.number": "identifier.ullValue",
        "message_type": "messageType", "message.text": "message.ascii"},
    ("struct nvtx_callbacks", "NvtxExportTableCallbacks"): {
        "bytes": "struct_size", "module": "GetModuleFunctionTable"},
    ("struct nvtx_version", "NvtxExportTableVersionInfo"): {
        "bytes": "struct_size", "version": "version", "tool_is_for": "SetInjectionNvtxVersion"},
}


@pytest.fixture(scope="module", params=sorted(nvtx_kit.WHEELS))
def include(request, root):
    return nvtx_kit.headers(root, request.param)


def test_numbers_and_fields_are_nvidias(include, root, tmp_path):
    """Names of ours and NVIDIA's clash: each side is compiled alone, and prints its own."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")

    def told(head, numbers, records):
        lines = ['\tprintf("%%lld\\n", (long long)%s);' % number for number in numbers]
        for record, fields in records:
            lines.append('\tprintf("%%zu\\n", sizeof(%s));' % record)
            for field in fields:
                lines.append('\tprintf("%%zu %%zu\\n", offsetof(%s, %s), '
                             'sizeof(((%s *)0)->%s));' % (record, field, record, field))
        source = tmp_path / "abi.c"
        source.write_text("#include <stddef.h>\n#include <stdio.h>\n%s\nint main(void)\n{\n%s\n"
                          "\treturn 0;\n}\n" % (head, "\n".join(lines)))
        subprocess.check_call([compiler, "-std=gnu11", "-I%s/src" % root, "-isystem", include,
                               str(source), "-o", str(tmp_path / "abi"), "-ldl"])
        return subprocess.check_output([str(tmp_path / "abi")], universal_newlines=True).split("\n")

    ours = told('#include "agent/nvtx/nvtx_abi.h"', NUMBERS.keys(),
                [(record, fields.keys()) for (record, _), fields in FIELDS.items()])
    theirs = told("#include <nvtx3/nvToolsExt.h>", NUMBERS.values(),
                  [(record, fields.values()) for (_, record), fields in FIELDS.items()])
    assert len(ours) > len(NUMBERS)
    assert ours == theirs


def test_every_number_of_ours_is_compared(root):
    with open(root + "/src/agent/nvtx/nvtx_abi.h", encoding="utf-8") as file:
        mine = set(re.findall(r"\bNVTX_[A-Z0-9_]+", file.read()))
    assert mine - set(NUMBERS) == {"NVTX_INJECTION64_PATH"}
