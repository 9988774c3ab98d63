"""The syntax, modules with their names, builtins and attributes that generated code may use."""

from __future__ import annotations

import re

SYNTAX = frozenset(
    """
    Module Import ImportFrom alias ClassDef FunctionDef AsyncFunctionDef arguments arg Return
    Assign AnnAssign AugAssign Delete For AsyncFor While If With AsyncWith withitem Try TryStar
    ExceptHandler Raise Assert Expr Pass Break Continue Global Nonlocal Match match_case
    MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr
    BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set List Tuple ListComp SetComp DictComp
    GeneratorExp comprehension Compare Call keyword JoinedStr FormattedValue Constant Attribute
    Subscript Slice Starred Name Await Yield YieldFrom Load Store Del And Or Add Sub Mult MatMult
    Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub Eq NotEq Lt LtE Gt
    GtE Is IsNot In NotIn
    """.split()
)
"""Kinds of nodes of a syntax tree. What a later Python adds is refused until it is listed."""

_SKILL_API = """
    SkillBase SkillDefinition SkillParam SkillParameter SkillResult SkillError ParamType
    CAPABILITY_LEVELS PARAM_TYPES call fetch progress
"""
MODULES: dict[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "__future__": "annotations",
        "abc": "ABC abstractmethod",
        "asyncio": """
            sleep gather run wait_for create_task as_completed timeout TaskGroup TimeoutError
            Semaphore Lock Event Queue PriorityQueue LifoQueue
        """,
        "base64": """
            b64encode b64decode standard_b64encode standard_b64decode urlsafe_b64encode
            urlsafe_b64decode b32encode b32decode b32hexencode b32hexdecode b16encode b16decode
            a85encode a85decode b85encode b85decode encodebytes decodebytes
        """,
        "binascii": "hexlify unhexlify crc32 crc_hqx a2b_base64 b2a_base64 a2b_hex b2a_hex Error",
        "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
        "calendar": """
            Calendar TextCalendar HTMLCalendar monthrange monthcalendar month calendar isleap
            leapdays weekday timegm day_name day_abbr month_name month_abbr
        """,
        "cmath": """
            acos asin atan cos cosh e exp inf isclose isfinite isinf isnan log log10 nan phase pi
            polar rect sin sinh sqrt tan tanh tau
        """,
        "collections": "Counter OrderedDict defaultdict deque namedtuple ChainMap abc",
        "collections.abc": """
            Awaitable AsyncIterable AsyncIterator Callable Collection Container Coroutine Generator
            Hashable ItemsView Iterable Iterator KeysView Mapping MutableMapping MutableSequence
            MutableSet Reversible Sequence Set Sized ValuesView
        """,
        "colorsys": "rgb_to_hls rgb_to_hsv rgb_to_yiq hls_to_rgb hsv_to_rgb yiq_to_rgb",
        "contextlib": "contextmanager suppress nullcontext closing redirect_stdout",
        "copy": "copy deepcopy",
        "csv": """
            DictReader DictWriter reader writer Error Sniffer excel excel_tab unix_dialect
            QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC
        """,
        "dataclasses": "dataclass field fields asdict astuple replace is_dataclass KW_ONLY",
        "datetime": "datetime date time timedelta timezone UTC MINYEAR MAXYEAR",
        "decimal": """
            Decimal Context getcontext localcontext InvalidOperation DivisionByZero DecimalException
            Inexact Overflow Underflow ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN
            ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP ROUND_05UP
        """,
        "difflib": """
            SequenceMatcher Differ unified_diff context_diff ndiff get_close_matches HtmlDiff
            restore
        """,
        "enum": "Enum IntEnum StrEnum Flag IntFlag auto unique",
        "fractions": "Fraction",
        "functools": """
            reduce partial partialmethod lru_cache cache cached_property wraps total_ordering
            cmp_to_key singledispatch
        """,
        "hashlib": """
            md5 sha1 sha224 sha256 sha384 sha512 sha3_224 sha3_256 sha3_384 sha3_512 blake2b blake2s
            shake_128 shake_256 new pbkdf2_hmac algorithms_guaranteed algorithms_available
        """,
        "heapq": "heappush heappop heapify heapreplace heappushpop nlargest nsmallest merge",
        "hmac": "new compare_digest digest",
        "html": "escape unescape",
        "io": "StringIO BytesIO",
        "ipaddress": """
            ip_address ip_network ip_interface IPv4Address IPv6Address IPv4Network IPv6Network
            AddressValueError NetmaskValueError collapse_addresses summarize_address_range
        """,
        "itertools": """
            accumulate batched chain combinations combinations_with_replacement compress count cycle
            dropwhile filterfalse groupby islice pairwise permutations product repeat starmap
            takewhile tee zip_longest
        """,
        "json": "loads dumps load dump JSONDecodeError JSONEncoder JSONDecoder",
        "keyword": "iskeyword issoftkeyword kwlist",
        "math": """
            acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e
            erf erfc exp exp2 expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf
            isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan
            nextafter perm pi pow prod radians remainder sin sinh sqrt sumprod tan tanh tau trunc
            ulp
        """,
        "numbers": "Number Complex Real Rational Integral",
        "operator": """
            add sub mul truediv floordiv mod pow neg pos abs and_ or_ xor not_ invert lshift rshift
            eq ne lt le gt ge contains concat countOf indexOf getitem itemgetter truth is_ is_not
        """,
        "pprint": "pformat pprint",
        "quopri": "encodestring decodestring",
        "random": """
            Random random randint randrange choice choices sample shuffle uniform gauss seed
            normalvariate triangular expovariate betavariate
        """,
        "re": """
            compile match search fullmatch findall finditer sub subn split escape error Pattern
            Match A ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE L LOCALE NOFLAG
            RegexFlag
        """,
        "secrets": "choice token_hex token_bytes token_urlsafe randbelow compare_digest",
        "shlex": "split quote join",
        "skillapi": _SKILL_API,
        "src": "skills",
        "src.skills": "base types",
        "src.skills.base": _SKILL_API,
        "src.skills.types": _SKILL_API,
        "statistics": """
            mean fmean geometric_mean harmonic_mean median median_low median_high median_grouped
            mode multimode pstdev pvariance stdev variance quantiles covariance correlation
            linear_regression NormalDist StatisticsError
        """,
        "string": """
            ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation
            printable whitespace capwords Template
        """,
        "struct": "pack unpack pack_into unpack_from calcsize iter_unpack Struct error",
        "sys": "argv exit stdin stdout stderr maxsize version_info float_info int_info byteorder",
        "textwrap": "dedent fill wrap indent shorten TextWrapper",
        "time": """
            time time_ns monotonic monotonic_ns perf_counter perf_counter_ns sleep strftime strptime
            gmtime localtime mktime asctime ctime struct_time
        """,
        "typing": """
            Any Optional Union List Dict Tuple Set FrozenSet Iterable Iterator Callable Sequence
            Mapping MutableMapping Generator TypeVar Generic NamedTuple TypedDict Literal Final
            ClassVar Type Awaitable Coroutine AsyncIterator Deque DefaultDict Counter cast overload
            Protocol NoReturn Never Self TypeAlias Annotated TYPE_CHECKING Pattern Match Required
            NotRequired SupportsFloat SupportsInt Hashable Collection
        """,
        "unicodedata": """
            normalize category name lookup combining east_asian_width numeric digit decimal
            bidirectional mirrored is_normalized decomposition unidata_version
        """,
        "urllib": "parse",
        "urllib.parse": """
            urlparse urlsplit urlunparse urlunsplit urljoin urldefrag parse_qs parse_qsl quote
            quote_plus quote_from_bytes unquote unquote_plus unquote_to_bytes urlencode ParseResult
            SplitResult
        """,
        "uuid": "UUID uuid3 uuid4 uuid5 NAMESPACE_DNS NAMESPACE_URL NAMESPACE_OID NAMESPACE_X500",
        "xml": "sax",
        "xml.sax": "saxutils",
        "xml.sax.saxutils": "escape unescape quoteattr",
        "zlib": "compress decompress crc32 adler32 error",
        "zoneinfo": "ZoneInfo ZoneInfoNotFoundError available_timezones",
    }.items()
}
"""The modules, with the names that may be used of each."""

REFUSED_BUILTINS = frozenset(
    """
    eval exec compile open breakpoint globals locals vars dir setattr delattr memoryview help
    license credits copyright __import__ __build_class__ __loader__ __spec__ __builtins__
    """.split()
)
LITERAL_BUILTINS = frozenset(("getattr", "hasattr"))
"""Builtins that are harmless if the attribute that they name stands in the code."""
MODULE_TEXTS = frozenset(("__all__", "__author__", "__slots__", "__version__"))
"""Special names that a program may set."""

DEFINED_DUNDERS = frozenset(
    f"__{name}__"
    for name in """
    init str repr eq ne lt le gt ge hash bool len iter next contains getitem setitem delitem call
    enter exit aenter aexit aiter anext add radd iadd sub rsub mul rmul truediv rtruediv floordiv
    mod pow neg pos abs int float index round post_init missing reversed and or xor invert await
    """.split()
)
"""Special methods that a class may define."""
READ_ATTRIBUTES = frozenset(("__name__", "__doc__", "_asdict", "_fields", "_make", "_replace"))
"""Attributes with an underscore that lead nowhere: texts, and the methods of named tuples."""

REFUSED_ATTRIBUTES = re.compile(
    r"(?:gi|cr|ag|tb|co|func)_\w+|f_(?:back|builtins|code|globals|locals|lasti|lineno|trace\w*)"
    r"|format_map|mro|modules|builtins|get_loop|with_traceback|subprocess_\w+|run_in_executor"
    r"|create_(?:connection|server|subprocess\w*)|sys|os"
)
"""Attributes that lead to frames, code, modules or the event loop."""
METHODS = frozenset(
    """
    hexdigest digest update copy block_size digest_size name value msg doc pos lineno colno reason
    start end object args errno strerror filename cache_info cache_clear
    hits misses maxsize currsize line_num fieldnames
    writerow writerows writeheader func keywords setter getter deleter exceptions code dialect
    cancel done result exception add_done_callback cancelled int hex bytes fields time_low
    major minor micro releaselevel max epsilon dig mant_dig
    skill_name success output error execution_ms description params parameters category
    requires_confirmation enabled timeout_seconds cooldown_seconds capability_level param_type
    required default type definition execute STRING INTEGER FLOAT BOOLEAN
    """.split()
)
"""Attributes of values that no listed class shows: hashes, errors, readers, the skill API."""
