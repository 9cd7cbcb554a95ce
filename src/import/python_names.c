/*
 * PyTorch cuts the folder of sys.path off a file's name: "torch/nn/functional.py", "threading.py".
 * Reports tell the user's code from others' by folders, so known packages and modules of the
 * standard library get one back: "/site-packages/", "/lib/python3/".
 */
#include "import/python_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define LAYER "nn.Module: "

/* First components of what is installed where models run, in order. */
static const char *const packages[] = {
	"PIL",
	"_pytest",
	"accelerate",
	"aiohttp",
	"albumentations",
	"anyio",
	"apex",
	"av",
	"bitsandbytes",
	"click",
	"compressed_tensors",
	"cupy",
	"cv2",
	"datasets",
	"decord",
	"deepspeed",
	"diffusers",
	"einops",
	"fairscale",
	"fairseq",
	"fastapi",
	"filelock",
	"flash_attn",
	"flashinfer",
	"flax",
	"fsspec",
	"functorch",
	"gradio",
	"grpc",
	"h11",
	"httpx",
	"huggingface_hub",
	"imageio",
	"ipykernel",
	"jax",
	"jaxlib",
	"joblib",
	"keras",
	"librosa",
	"lightning",
	"llama_cpp",
	"lxml",
	"mmcv",
	"mmengine",
	"msgpack",
	"networkx",
	"nltk",
	"numba",
	"numpy",
	"nvtx",
	"onnx",
	"onnxruntime",
	"optimum",
	"orjson",
	"pandas",
	"peft",
	"pluggy",
	"polars",
	"psutil",
	"pyarrow",
	"pydantic",
	"pytest",
	"pytorch_lightning",
	"ray",
	"regex",
	"requests",
	"safetensors",
	"scipy",
	"sentence_transformers",
	"sentencepiece",
	"sglang",
	"skimage",
	"sklearn",
	"soundfile",
	"spacy",
	"starlette",
	"sympy",
	"tensorflow",
	"tensorrt",
	"tensorrt_llm",
	"tiktoken",
	"timm",
	"tokenizers",
	"torch",
	"torch_tensorrt",
	"torchao",
	"torchaudio",
	"torchmetrics",
	"torchrec",
	"torchvision",
	"tornado",
	"tqdm",
	"traitlets",
	"transformer_engine",
	"transformers",
	"triton",
	"typing_extensions.py",
	"ultralytics",
	"urllib3",
	"uvicorn",
	"uvloop",
	"vllm",
	"xformers",
	"yaml",
	"zmq",
};

/* Packages and modules of the standard library that a profile of a model shows, in order. */
static const char *const standard[] = {
	"__future__.py",
	"_collections_abc.py",
	"_weakrefset.py",
	"abc.py",
	"argparse.py",
	"ast.py",
	"asyncio",
	"base64.py",
	"bdb.py",
	"bisect.py",
	"calendar.py",
	"cmd.py",
	"code.py",
	"codecs.py",
	"collections",
	"concurrent",
	"contextlib.py",
	"contextvars.py",
	"copy.py",
	"copyreg.py",
	"csv.py",
	"ctypes",
	"dataclasses.py",
	"datetime.py",
	"decimal.py",
	"difflib.py",
	"dis.py",
	"email",
	"encodings",
	"enum.py",
	"fnmatch.py",
	"fractions.py",
	"ftplib.py",
	"functools.py",
	"gc.py",
	"genericpath.py",
	"getpass.py",
	"gettext.py",
	"glob.py",
	"gzip.py",
	"hashlib.py",
	"heapq.py",
	"hmac.py",
	"html",
	"http",
	"importlib",
	"inspect.py",
	"io.py",
	"ipaddress.py",
	"json",
	"keyword.py",
	"linecache.py",
	"locale.py",
	"logging",
	"lzma.py",
	"mimetypes.py",
	"multiprocessing",
	"ntpath.py",
	"numbers.py",
	"opcode.py",
	"operator.py",
	"os.py",
	"pathlib",
	"pathlib.py",
	"pdb.py",
	"pickle.py",
	"pkgutil.py",
	"platform.py",
	"posixpath.py",
	"pprint.py",
	"profile.py",
	"queue.py",
	"random.py",
	"re",
	"re.py",
	"reprlib.py",
	"runpy.py",
	"sched.py",
	"secrets.py",
	"selectors.py",
	"shlex.py",
	"shutil.py",
	"signal.py",
	"site.py",
	"socket.py",
	"socketserver.py",
	"sqlite3",
	"sre_compile.py",
	"sre_parse.py",
	"ssl.py",
	"stat.py",
	"statistics.py",
	"string.py",
	"struct.py",
	"subprocess.py",
	"sysconfig.py",
	"tarfile.py",
	"tempfile.py",
	"textwrap.py",
	"threading.py",
	"timeit.py",
	"token.py",
	"tokenize.py",
	"trace.py",
	"traceback.py",
	"tracemalloc.py",
	"types.py",
	"typing.py",
	"unittest",
	"urllib",
	"uuid.py",
	"warnings.py",
	"wave.py",
	"weakref.py",
	"xml",
	"zipfile",
	"zipfile.py",
	"zoneinfo",
};

static int compare(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

#define IS_IN(list, word) \
	(bsearch(word, list, sizeof(list) / sizeof(*(list)), sizeof(*(list)), compare) != NULL)

/* The folder that was cut off; "": none that is known. */
static const char *folder_of(const char *file, size_t bytes)
{
	char first[64];
	size_t n = 0;

	while (n < bytes && file[n] != '/')
		n++;
	if (!n || n >= sizeof(first))
		return "";
	memcpy(first, file, n);
	first[n] = '\0';
	if (IS_IN(packages, first))
		return "/site-packages/";
	return IS_IN(standard, first) ? "/lib/python3/" : "";
}

static int parse_file(struct python_name *out, struct build *b, const char *file, size_t bytes)
{
	const char *folder = folder_of(file, bytes);
	struct buf whole;

	buf_init(&whole);
	buf_add_str(&whole, folder);
	buf_add(&whole, file, bytes);
	out->file = whole.failed ? 0 : build_name(b, whole.data, whole.len);
	buf_release(&whole);
	return out->file ? 0 : -1;
}

/* "... at 0x7f12": the address differs from object to object, the function does not. */
static uint32_t without_address(struct build *b, const char *text)
{
	const char *at = strstr(text, " at 0x");
	const char *end = at ? at + 6 + strspn(at + 6, "0123456789abcdefABCDEF") : NULL;
	struct buf name;
	uint32_t id;

	if (!at)
		return build_name(b, text, strlen(text));
	buf_init(&name);
	buf_add(&name, text, (size_t)(at - text));
	buf_add_str(&name, end);
	id = name.failed ? 0 : build_name(b, name.data, name.len);
	buf_release(&name);
	return id;
}

/* "Linear_3": the class, and a number that tells its modules apart. */
static int parse_layer(struct python_name *out, struct build *b, const char *text)
{
	const char *number = strrchr(text, '_');
	size_t class_bytes = number ? (size_t)(number - text) : strlen(text);
	uint32_t class_name = build_name(b, text, class_bytes);
	uint32_t name = build_name(b, text, strlen(text));

	out->layer = name && class_name ? build_layer(b, name, class_name, BUILD_OUTERMOST) : 0;
	return out->layer ? 0 : -1;
}

int python_name_parse(struct python_name *out, struct build *b, uint32_t name)
{
	const char *text = build_text(b, name), *colon, *open, *digits;

	memset(out, 0, sizeof(*out));
	if (!strncmp(text, LAYER, strlen(LAYER))) {
		return parse_layer(out, b, text + strlen(LAYER));
	}
	colon = strstr(text, "): ");
	for (open = colon; open && open > text && *open != '(';)
		open--;
	digits = open ? open + 1 : NULL;
	if (colon && open > text && digits + strspn(digits, "0123456789") == colon) {
		out->line = (uint32_t)strtoul(digits, NULL, 10);
		out->function = build_name(b, colon + 3, strlen(colon + 3));
		return !out->function || parse_file(out, b, text, (size_t)(open - text)) ? -1 : 0;
	}
	out->function = without_address(b, text);
	return out->function ? 0 : -1;
}
