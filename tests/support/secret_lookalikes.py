"""Texts without a secret, made from a seed, that resemble what a scanner looks for."""

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Callable

_WORD = "pass" + "word"
_STRIPE, _GITHUB, _AWS = "sk_" + "live_", "gh" + "p_", "AK" + "IA"
_BEGIN = "-----BEGIN " + "RSA PRIVATE KEY-----"


def _jwt_head() -> str:
    head = json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(head).decode().rstrip("=")


def _sample_jwt(rng: random.Random) -> str:
    claims = base64.urlsafe_b64encode(b'{"sub": "1234567890", "name": "John Doe"}').decode()
    signature = base64.urlsafe_b64encode(rng.randbytes(32)).decode()
    return f"{_jwt_head()}.{claims.rstrip('=')}.{signature.rstrip('=')}"


def _base64(rng: random.Random, count: int) -> str:
    return base64.b64encode(rng.randbytes(count)).decode()


def _base58(rng: random.Random, count: int) -> str:
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    return "".join(rng.choices(alphabet, k=count))


def _example_password(rng: random.Random) -> str:
    word = rng.choice(
        ("secret", "Secure", "test", _WORD, "my" + _WORD, "admin", "Demo", "new" + _WORD)
    )
    return word + rng.choice(("123", "1234", "!1", "42", "2024!", "Pass123!"))


HARMLESS_TEXTS: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: f"commit {rng.randbytes(20).hex()}",
    lambda rng: f"sha256: {rng.randbytes(32).hex()}",
    lambda rng: f"cache_key: {rng.randbytes(16).hex()}",
    lambda rng: f"The key is {rng.randbytes(32).hex()[:12]}, a prefix.",
    lambda rng: f"token id {uuid.UUID(bytes=rng.randbytes(16))}",
    lambda rng: f"integrity: sha512-{_base64(rng, 64)}",
    lambda rng: f"![x](data:image/png;base64,{base64.b64encode(rng.randbytes(900)).decode()})",
    lambda rng: f"0x{hashlib.sha256(rng.randbytes(4)).hexdigest()[:40]} is the address",
    lambda rng: f"transaction 0x{rng.randbytes(32).hex()} was mined",
    lambda rng: f"https://example.org/{rng.randbytes(6).hex()}/path?key=value&page={rng.random()}",
    lambda rng: 'api_key = os.environ["SERVICE_API_KEY"]',
    lambda rng: "Set `API_KEY=<your-api-key>` or `export TOKEN=${TOKEN}` first.",
    lambda rng: "Authorization: Bearer YOUR_ACCESS_TOKEN",
    lambda rng: "OPENAI_API_KEY=sk-your-key-here, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    lambda rng: "It begins with -----BEGIN PRIVATE KEY----- and ends alike.",
    lambda rng: "password: string; token?: string | undefined",
    lambda rng: "max_tokens: 4096, tokenizer: cl100k_base, model: claude-sonnet-4-20250514",
    lambda rng: "The secret of a good key is that the password must be at least 12 characters.",
    lambda rng: "postgres://user:password@localhost:5432/db or http://USER:PASS@host",
    lambda rng: "const accessToken = await getAccessTokenFromCookie(request)",
    lambda rng: "foreign_key: customer_account_id2, sort_key=created_at_2026",
    lambda rng: f"secretName: my-tls-{rng.randrange(9)}, secretKeyRef: db-secret-1",
    lambda rng: "risk-assessment-2026-framework-version-12 task-management-for-3-people-at-10",
    lambda rng: "| key | meaning |\n|-----|---------|\n| Ctrl+Shift+P | palette |",
    lambda rng: "token: abstract-syntax-tree-node-type; keys: ArrowUp, ArrowDown",
    lambda rng: f'<svg xmlns="http://www.w3.org/2000/svg"><path d="M{rng.random()}l3.5-2"/></svg>',
    lambda rng: "Run `gpg --recv-keys 0x" + rng.randbytes(8).hex().upper() + "`.",
    lambda rng: "ssh-ed25519 " + base64.b64encode(rng.randbytes(51)).decode() + " me@host",
    # paths, imports and names in code
    lambda rng: (
        f'import "@openzeppelin/contracts/token/ERC{rng.randrange(10**4)}/utils/Safe20.sol";'
    ),
    lambda rng: "import {ERC20Votes} from '@scope/contracts/token/ERC20/extensions/ERC20Votes.sol'",
    lambda rng: f"from app.auth.token.v{rng.randrange(9)} import Ed25519TokenReader2",
    lambda rng: "const sharedSecret = crypto.deriveSharedSecret(identity.x25519SecretKey, peer);",
    lambda rng: "export function keypairFromPrivateKey(privateKeyBase58: string): Keypair {",
    lambda rng: f"    {_WORD}: options?.{_WORD} || this.config.{_WORD},",
    lambda rng: "token_file: /run/secrets/Token2File9.json and key: certs/Server01Key.pem",
    lambda rng: "SPL_TOKEN=" + _base58(rng, 44) + "  # the coin",
    lambda rng: f"wallet.py send-token {_base58(rng, 44)} {_base58(rng, 43)} 10",
    # examples and placeholders
    lambda rng: f"qpdf --{_WORD}={_example_password(rng)} --decrypt in.pdf out.pdf",
    lambda rng: f'{{"username": "admin", "{_WORD}": "{_example_password(rng)}"}}',
    lambda rng: f"DB_PASSWORD={_example_password(rng)}",
    lambda rng: f"postgresql://admin:{_example_password(rng)}@localhost:5432/app",
    lambda rng: f'"apiKey": "{_STRIPE}{"x" * rng.randrange(8, 30)}",\n"next": "AbCdEfGh12"',
    lambda rng: f"{_STRIPE}{'X' * 24} or {_GITHUB}{'0' * 36}",
    lambda rng: f"access_key = {_AWS}IOSFODNN7EXAMPLE",
    lambda rng: 'secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY' + 'EXAMPLEKEY"',
    lambda rng: 'API_KEY = "sk-abc123xyz789"\nDATABASE_URL = "postgres://db/App2Base"',
    lambda rng: f"const API_KEY = '{_STRIPE}abc123{rng.choice(('def456', 'xyz789'))}';",
    lambda rng: f"ACCESS_TOKEN: {_base58(rng, 9)}abc123def",
    lambda rng: f'"api_key": "pwk-aBcDeFgHiJkLmNoPqRsTuVwXyZ0{rng.randrange(10**6)}"',
    lambda rng: f"Authorization: Bearer {_jwt_head()}...",
    lambda rng: f'"token": "{_jwt_head()}"',
    lambda rng: f'token = "{_sample_jwt(rng)}"',
    lambda rng: f'client_secret: "{_base58(rng, 6)}..."  and  "privateKey": "{_base58(rng, 22)}…"',
    lambda rng: "export WALLET_PRIVATE_KEY=0xYourPrivateKey2Here4U",
    lambda rng: '"token": "0xNFT1ContractAddress2"',
    lambda rng: "NEXTAUTH_SECRET=generate-with-openssl-rand-base64-32",
    lambda rng: '"secret": "base64_encoded_secret_keep_this_safe"',
    lambda rng: "Valid secret: `JBSWY3DP" + "EHPK3PXP`",
    lambda rng: f"bw get {_WORD} 12345678-1234-1234-1234-123456789012",
    lambda rng: f"clientKey = '{base64.b64encode(b'the sample nonce').decode()}';",
    lambda rng: f"Upgrade: websocket\nSec-WebSocket-Key: {_base64(rng, 16)}",
    lambda rng: f"      - SA_{_WORD.upper()}=YourStrong@Passw0rd\n    ports:",
    lambda rng: f"Server=db;Database=App;User=sa;Password=Your_{_WORD}{rng.randrange(100)}!;",
    lambda rng: f"regex=r'{_BEGIN}',\n    description='RSA key found in the source',",
    lambda rng: f"{_BEGIN}\nMIIEvAIBADANBgkqhkiG9w0...\n" + _BEGIN.replace("BEGIN", "END"),
    lambda rng: f"database_{_WORD}: {base64.b64encode(_WORD.encode()).decode()}",
    lambda rng: f'USER_PASSWORD="cluster{rng.randrange(1990, 2030)}"',
    lambda rng: f"postgresql://phoenix:phoenix{rng.randrange(10)}@db:5432/phoenix",
    lambda rng: "Example: " + "AI" + "za" + "SyA1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q",
    lambda rng: "postgres://user:p%40ssw%24rd@host:5432/database  # p@ssw$rd",
    lambda rng: f"mysql://app:{_WORD}%40{rng.randrange(1990, 2030)}%21@db.internal/app",
    lambda rng: "session secret: 's3Cur3', as in many tutorials",
    lambda rng: f'PUBLISHABLE_KEY="pk_live_{_base58(rng, 44)}"',
    lambda rng: f"1. Parse the URL to extract fileKey=`{_base58(rng, 22)}`",
    lambda rng: 'key: "Ctrl+G/Ctrl+Alt+G",',
    lambda rng: "let secret_persists = (0..32usize).any(|i| unsafe {",
    # prose, tables, selectors, references
    lambda rng: "| Encoded (not encrypted) secrets | Base64 is reversible | Use encryption |",
    lambda rng: "| MFA Secret | Base32 string | see below |\n- Secrets: Base32 format, 16 letters",
    lambda rng: f"Password: input#{_WORD} or input#p",
    lambda rng: "grep -E 'extract.*passw|run.*executable2|install.*from'",
    lambda rng: "Use meaningful citation keys (FirstAuthor2024keyword)",
    lambda rng: (
        f"@article{{Smith{rng.randrange(1990, 2030)}DeepLearning4Proteins,\n  keywords = {{A1}}"
    ),
    lambda rng: f"https://drive.example.org/view?usp=sharing&resourcekey=0-{_base58(rng, 22)}",
    # addresses with ports, hashes, locks
    lambda rng: f"token: http://localhost:{rng.randrange(1024, 65536)}/v1/Tokens2Go@latest",
    lambda rng: f"SECRET_STORE=vault.internal:{rng.randrange(1024, 65536)}/v1/kv2",
    lambda rng: f"https://registry.internal:{rng.randrange(10000, 65536)}@scope/package",
    lambda rng: f'"token": {{"integrity": "sha512-{_base64(rng, 64)}"}}',
    lambda rng: f'"integrity": "sha512-{_base64(rng, 24)}Key/{_base64(rng, 30)}"',
    lambda rng: "key=" + "".join(map(chr, rng.choices(range(0xA1, 0x17F), k=80))) + "aB3dE5gH",
    lambda rng: f"token address 0x{rng.randbytes(20).hex()}, key hash {rng.randbytes(32).hex()}",
)


def text_without_secret(rng: random.Random) -> str:
    """Return a line that looks as if it might hold a secret, and holds none."""
    return rng.choice(HARMLESS_TEXTS)(rng)
