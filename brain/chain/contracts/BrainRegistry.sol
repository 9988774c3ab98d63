// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title  BrainRegistry: the committed snapshots of brains, in order
/// @notice A brain is the versioned mind of an agent, a snapshot the hash of all of it. The
///         contract stores the last committed snapshot of each brain, its head, and takes the next
///         one only from the owner or the signer, and only if it names the head as its parent. So
///         of two snapshots with one parent only the first can be committed.
/// @notice Many brains share a transaction if their snapshots are entries of one RFC 6962 log,
///         whose checkpoint is anchored here.
/// @dev    Nobody is above the owners: no administrator, no upgrade, no pause, no fee. There are
///         no immutable variables, so the code has the same hash on every chain.
/// @dev    The storage layout is part of the interface, since evidence is proven against it:
///         slot 0 maps the id of a brain to four words (see `Brain`), slot 1 maps an account and a
///         log to the hash of a checkpoint, slot 2 maps a brain and the number of a commitment to
///         the first commitment that it disowned.
contract BrainRegistry {
    /// @dev Word 0: owner, seq above it, `repairs` above that. Word 1: head. Word 2: signer, and
    ///      epoch above it. Word 3: offeredTo, and offerEnds above it.
    struct Brain {
        address owner;
        uint64 seq;
        uint32 repairs;
        bytes32 head;
        address signer;
        uint64 epoch;
        address offeredTo;
        uint64 offerEnds;
    }

    mapping(bytes32 id => Brain) private _brains;
    mapping(address account => mapping(bytes32 log => bytes32 checkpoint)) private _anchors;
    mapping(bytes32 id => mapping(uint64 seq => uint64 since)) private _disowned;

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant NAME_HASH = keccak256("BrainRegistry");
    bytes32 private constant VERSION_HASH = keccak256("2");
    bytes32 private constant OPEN_TYPE =
        keccak256("Open(address owner,bytes32 salt,bytes32 snapshot,uint64 deadline)");
    bytes32 private constant COMMIT_TYPE = keccak256(
        "Commit(bytes32 brainId,bytes32 snapshot,bytes32 parent,uint64 seq,uint64 epoch,uint64 deadline)"
    );
    bytes32 private constant SET_SIGNER_TYPE =
        keccak256("SetSigner(bytes32 brainId,address signer,uint64 epoch,uint64 deadline)");

    /// @dev The selector of isValidSignature, which is also its answer for yes (ERC-1271).
    bytes4 private constant ERC1271 = 0x1626ba7e;

    /// @dev Half the order of secp256k1. A signature with a higher s has a twin with a lower one.
    uint256 private constant HALF_ORDER =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @notice A brain was opened. `Committed` with seq 1 follows.
    event Opened(bytes32 indexed brainId, address indexed owner, bytes32 indexed salt);

    /// @notice `snapshot` became the head after `parent`, as commitment `seq` of this brain, from
    ///         1. `by` called, or signed the permit.
    event Committed(
        bytes32 indexed brainId,
        bytes32 indexed snapshot,
        bytes32 indexed parent,
        uint64 seq,
        address by
    );

    /// @notice The owner disowned commitments `since` to `until`. `Committed` with seq
    ///         `until` + 1 follows, and does not descend from them.
    event Disowned(bytes32 indexed brainId, uint64 indexed since, uint64 until);

    /// @notice After commitment `seq`, `signer` may commit besides the owner; nobody if it is zero.
    event SignerChanged(bytes32 indexed brainId, address indexed signer, uint64 seq, uint64 epoch);

    /// @notice `owner` offers the brain to `to` up to the second `ends`; to nobody if that is zero.
    event OwnershipOffered(
        bytes32 indexed brainId, address indexed owner, address indexed to, uint64 ends
    );

    /// @notice After commitment `seq` the brain belongs to `to`, and has no signer.
    event OwnershipTransferred(
        bytes32 indexed brainId, address indexed from, address indexed to, uint64 seq
    );

    /// @notice `account` anchored a checkpoint of a log.
    event Anchored(address indexed account, bytes32 indexed log, bytes32 indexed checkpoint);

    /// @notice The caller, or the signer of the permit, has no right to this.
    error Unauthorized();
    /// @notice The parent is not the head, which is `head`, commitment `seq`.
    error StaleParent(bytes32 head, uint64 seq);
    /// @notice The permit or the offer has expired.
    error Expired();
    /// @notice The owner has opened a brain with this salt before.
    error Exists();
    /// @notice Zero stands for no snapshot.
    error ZeroSnapshot();
    /// @notice Zero stands for no checkpoint.
    error ZeroCheckpoint();
    /// @notice The first commitment cannot be disowned, nor one that does not exist.
    error BadRange();

    /// @notice Open a brain of the caller, with its first commitment.
    /// @dev    The id covers the caller, so nobody can open it in their place.
    /// @param  salt Distinguishes the brains of one owner: the id of the brain's first snapshot.
    /// @param  snapshot The first head; its parent is zero.
    /// @return id The id of the brain: `idOf(caller, salt)`.
    function open(bytes32 salt, bytes32 snapshot) external returns (bytes32 id) {
        return _open(msg.sender, salt, snapshot);
    }

    /// @notice Open a brain of `owner`, who signed the permit; the caller pays.
    /// @param  owner The owner: a key, or a wallet contract (ERC-1271).
    /// @param  salt As for `open`.
    /// @param  snapshot As for `open`.
    /// @param  deadline The last second since 1970 at which the permit is valid.
    /// @param  signature Of the owner over the EIP-712 hash of Open.
    /// @return id The id of the brain: `idOf(owner, salt)`.
    function openFor(
        address owner,
        bytes32 salt,
        bytes32 snapshot,
        uint64 deadline,
        bytes calldata signature
    ) external returns (bytes32 id) {
        if (block.timestamp > deadline) revert Expired();
        bytes32 digest = _digest(keccak256(abi.encode(OPEN_TYPE, owner, salt, snapshot, deadline)));
        if (_author(owner, address(0), digest, signature) == address(0)) revert Unauthorized();
        return _open(owner, salt, snapshot);
    }

    /// @notice Make `snapshot` the head after `parent`. For the owner and the signer.
    /// @param  id The brain.
    /// @param  snapshot The new head.
    /// @param  parent The head until now.
    function commit(bytes32 id, bytes32 snapshot, bytes32 parent) external {
        Brain storage brain_ = _brains[id];
        address owner = brain_.owner;
        uint64 seq = brain_.seq;
        if (msg.sender != owner && msg.sender != brain_.signer) revert Unauthorized();
        _check(brain_, snapshot, parent, seq);
        _advance(brain_, id, snapshot, parent, seq + 1, msg.sender);
    }

    /// @notice Commit with a permit of the owner or the signer; the caller pays.
    /// @dev    The permit names the next seq and the epoch, so it works once, and not after any
    ///         other commitment, change of the signer, or transfer. A signature is that of a key
    ///         (65 bytes r, s, v; v 27 or 28, s in the lower half), or what a wallet contract
    ///         accepts (ERC-1271).
    /// @param  id The brain.
    /// @param  snapshot The new head.
    /// @param  parent The head until now.
    /// @param  deadline The last second since 1970 at which the permit is valid.
    /// @param  signature Of the owner or the signer over the EIP-712 hash of Commit.
    function commitFor(
        bytes32 id,
        bytes32 snapshot,
        bytes32 parent,
        uint64 deadline,
        bytes calldata signature
    ) external {
        if (block.timestamp > deadline) revert Expired();
        Brain storage brain_ = _brains[id];
        uint64 seq = brain_.seq;
        // Before the signature, which covers seq: a stale permit is reported as stale.
        _check(brain_, snapshot, parent, seq);
        bytes32 digest = _digest(
            keccak256(
                abi.encode(COMMIT_TYPE, id, snapshot, parent, seq + 1, brain_.epoch, deadline)
            )
        );
        address by = _author(brain_.owner, brain_.signer, digest, signature);
        if (by == address(0)) revert Unauthorized();
        _advance(brain_, id, snapshot, parent, seq + 1, by);
    }

    /// @notice Disown the commitments from `since` up to the head, and commit `snapshot` in their
    ///         place. For the owner, after a stolen or wrong signer committed. The signer is removed.
    /// @param  id The brain, which belongs to the caller.
    /// @param  snapshot The new head, which descends from the commitment before `since`.
    /// @param  head The head until now, so that nothing unseen is disowned.
    /// @param  since The first commitment to disown, from 2 to the number of the head.
    function supersede(bytes32 id, bytes32 snapshot, bytes32 head, uint64 since) external {
        Brain storage brain_ = _owned(id);
        uint64 seq = brain_.seq;
        _check(brain_, snapshot, head, seq);
        if (since < 2 || since > seq) revert BadRange();
        ++brain_.repairs;
        _disowned[id][seq + 1] = since;
        emit Disowned(id, since, seq);
        _changeSigner(brain_, id, address(0), seq);
        _advance(brain_, id, snapshot, head, seq + 1, msg.sender);
    }

    /// @notice Let `signer` commit besides the owner, in place of any before.
    /// @param  id The brain, which belongs to the caller.
    /// @param  signer A key or a wallet contract; zero for nobody.
    function setSigner(bytes32 id, address signer) external {
        Brain storage brain_ = _owned(id);
        _changeSigner(brain_, id, signer, brain_.seq);
    }

    /// @notice The same with a permit of the owner; the caller pays.
    /// @dev    The permit names the epoch, which the change raises, so it works once.
    /// @param  id The brain.
    /// @param  signer A key or a wallet contract; zero for nobody.
    /// @param  deadline The last second since 1970 at which the permit is valid.
    /// @param  signature Of the owner over the EIP-712 hash of SetSigner.
    function setSignerFor(bytes32 id, address signer, uint64 deadline, bytes calldata signature)
        external
    {
        if (block.timestamp > deadline) revert Expired();
        Brain storage brain_ = _brains[id];
        bytes32 digest =
            _digest(keccak256(abi.encode(SET_SIGNER_TYPE, id, signer, brain_.epoch, deadline)));
        if (_author(brain_.owner, address(0), digest, signature) == address(0)) {
            revert Unauthorized();
        }
        _changeSigner(brain_, id, signer, brain_.seq);
    }

    /// @notice Offer the brain to `to`. It stays the caller's until `to` accepts.
    /// @param  id The brain, which belongs to the caller.
    /// @param  to Who may accept, in place of any before; zero for nobody.
    /// @param  ends The last second since 1970 at which `to` may accept; 0 for nobody.
    function offerOwnership(bytes32 id, address to, uint64 ends) external {
        Brain storage brain_ = _owned(id);
        if (to == address(0)) ends = 0;
        else if (block.timestamp > ends) revert Expired();
        brain_.offeredTo = to;
        brain_.offerEnds = ends;
        emit OwnershipOffered(id, msg.sender, to, ends);
    }

    /// @notice Take over a brain that was offered to the caller. The signer is removed.
    /// @param  id The brain.
    function acceptOwnership(bytes32 id) external {
        Brain storage brain_ = _brains[id];
        if (msg.sender != brain_.offeredTo) revert Unauthorized();
        if (block.timestamp > brain_.offerEnds) revert Expired();
        uint64 seq = brain_.seq;
        emit OwnershipTransferred(id, brain_.owner, msg.sender, seq);
        brain_.owner = msg.sender;
        brain_.offeredTo = address(0);
        brain_.offerEnds = 0;
        _changeSigner(brain_, id, address(0), seq);
    }

    /// @notice Anchor a checkpoint of a log, in place of the caller's last one of that log.
    /// @dev    Not checked here; a consistency proof of the log shows that it only grew.
    /// @param  log The id of the log: SHA-256 of its verifier key (C2SP signed-note), as text.
    /// @param  checkpoint SHA-256 of the checkpoint's text (C2SP tlog-checkpoint): origin, size and
    ///         root, each a line.
    function anchor(bytes32 log, bytes32 checkpoint) external {
        if (checkpoint == 0) revert ZeroCheckpoint();
        _anchors[msg.sender][log] = checkpoint;
        emit Anchored(msg.sender, log, checkpoint);
    }

    /// @notice Return the state of a brain; all zero if it was never opened.
    /// @return owner Who may do everything.
    /// @return seq The number of the last commitment.
    /// @return head The last committed snapshot.
    /// @return signer Who may commit besides the owner; zero for nobody.
    /// @return epoch How often the signer was changed; a permit names it.
    /// @return repairs How often the owner disowned commitments.
    function brain(bytes32 id)
        external
        view
        returns (
            address owner,
            uint64 seq,
            bytes32 head,
            address signer,
            uint64 epoch,
            uint32 repairs
        )
    {
        Brain storage b = _brains[id];
        return (b.owner, b.seq, b.head, b.signer, b.epoch, b.repairs);
    }

    /// @notice Return who may accept a brain, and until when; zero if it is not offered.
    function offerOf(bytes32 id) external view returns (address to, uint64 ends) {
        Brain storage brain_ = _brains[id];
        return (brain_.offeredTo, brain_.offerEnds);
    }

    /// @notice Return the first commitment that commitment `seq` disowned, with all up to `seq`;
    ///         zero if it disowned none.
    function disownedBy(bytes32 id, uint64 seq) external view returns (uint64 since) {
        return _disowned[id][seq];
    }

    /// @notice Return the last checkpoint of a log that an account anchored; zero for none.
    function anchorOf(address account, bytes32 log) external view returns (bytes32) {
        return _anchors[account][log];
    }

    /// @notice Return the id of the brain that `owner` opened, or may open, with `salt`.
    function idOf(address owner, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(owner, salt));
    }

    /// @notice Return the EIP-712 domain of permits (ERC-5267).
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (
            hex"0f",
            "BrainRegistry",
            "2",
            block.chainid,
            address(this),
            bytes32(0),
            new uint256[](0)
        );
    }

    /// @notice Tell whether a log has a leaf at an index: RFC 9162, section 2.1.3.2, with SHA-256.
    /// @param  root The root of the log.
    /// @param  index The index of the leaf, from 0.
    /// @param  size The number of entries under the root.
    /// @param  leaf The hash of the leaf: SHA-256 of a zero byte and the entry.
    /// @param  proof The inclusion proof, the lowest hash first.
    function verifyInclusion(
        bytes32 root,
        uint64 index,
        uint64 size,
        bytes32 leaf,
        bytes32[] calldata proof
    ) external view returns (bool) {
        if (index >= size) return false;
        uint256 place = index;
        uint256 last = uint256(size) - 1;
        bytes32 hash = leaf;
        for (uint256 i = 0; i < proof.length; ++i) {
            if (last == 0) return false;
            if (place & 1 == 1 || place == last) {
                hash = _join(proof[i], hash);
                // A last node without a sibling moves up unchanged until it has one.
                while (place & 1 == 0 && place != 0) {
                    place >>= 1;
                    last >>= 1;
                }
            } else {
                hash = _join(hash, proof[i]);
            }
            place >>= 1;
            last >>= 1;
        }
        return last == 0 && hash == root;
    }

    /// @notice Return what `anchor` takes as the checkpoint of a log: SHA-256 of its text.
    /// @param  origin The origin of the log, its first line. A contract that takes it from its caller
    ///         must refuse one with a line feed: its text would be that of another checkpoint.
    /// @param  size The number of entries.
    /// @param  root The root of the log.
    function checkpointHash(string calldata origin, uint64 size, bytes32 root)
        external
        pure
        returns (bytes32)
    {
        return sha256(abi.encodePacked(origin, "\n", _decimal(size), "\n", _base64(root), "\n"));
    }

    function _decimal(uint64 number) private pure returns (bytes memory digits) {
        uint256 count = 1;
        for (uint64 rest = number / 10; rest != 0; rest /= 10) ++count;
        digits = new bytes(count);
        for (uint64 rest = number; count != 0; rest /= 10) {
            digits[--count] = bytes1(uint8(48 + rest % 10));
        }
    }

    /// @dev RFC 4648, section 4: six bits a letter, and one padding letter after 32 bytes.
    function _base64(bytes32 word) private pure returns (bytes memory text) {
        bytes memory letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        text = new bytes(44);
        for (uint256 i = 0; i < 42; ++i) text[i] = letters[(uint256(word) >> (250 - 6 * i)) & 63];
        text[42] = letters[(uint256(word) << 2) & 63];
        text[43] = "=";
    }

    function _open(address owner, bytes32 salt, bytes32 snapshot) private returns (bytes32 id) {
        if (snapshot == 0) revert ZeroSnapshot();
        id = idOf(owner, salt);
        Brain storage brain_ = _brains[id];
        if (brain_.owner != address(0)) revert Exists();
        brain_.owner = owner;
        brain_.seq = 1;
        brain_.head = snapshot;
        emit Opened(id, owner, salt);
        emit Committed(id, snapshot, 0, 1, owner);
    }

    /// @dev Refuse a snapshot that may not follow the head, which is commitment `seq`.
    function _check(Brain storage brain_, bytes32 snapshot, bytes32 parent, uint64 seq)
        private
        view
    {
        if (snapshot == 0) revert ZeroSnapshot();
        bytes32 head = brain_.head;
        if (head != parent) revert StaleParent(head, seq);
    }

    /// @dev Move the head. The callers have checked everything.
    function _advance(
        Brain storage brain_,
        bytes32 id,
        bytes32 snapshot,
        bytes32 parent,
        uint64 seq,
        address by
    ) private {
        brain_.head = snapshot;
        brain_.seq = seq;
        emit Committed(id, snapshot, parent, seq, by);
    }

    /// @dev Every change raises the epoch, so that permits of before are void.
    function _changeSigner(Brain storage brain_, bytes32 id, address signer, uint64 seq) private {
        uint64 epoch = brain_.epoch + 1;
        brain_.signer = signer;
        brain_.epoch = epoch;
        emit SignerChanged(id, signer, seq, epoch);
    }

    function _owned(bytes32 id) private view returns (Brain storage brain_) {
        brain_ = _brains[id];
        if (msg.sender != brain_.owner) revert Unauthorized();
    }

    /// @dev Return the EIP-712 digest of a permit.
    function _digest(bytes32 message) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(DOMAIN_TYPE, NAME_HASH, VERSION_HASH, block.chainid, address(this))
        );
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }

    /// @dev Return which of the two accounts signed, zero for neither. A key is tried first: an
    ///      account with code (EIP-7702) may still sign with its key.
    function _author(address owner, address signer, bytes32 digest, bytes calldata signature)
        private
        view
        returns (address)
    {
        address by = _recovered(digest, signature);
        if (by != address(0) && (by == owner || by == signer)) return by;
        if (_accepts(owner, digest, signature)) return owner;
        return _accepts(signer, digest, signature) ? signer : address(0);
    }

    /// @dev Return the account whose key signed, zero for none, as ecrecover does.
    function _recovered(bytes32 digest, bytes calldata signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER) return address(0);
        return ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), s);
    }

    /// @dev Ask a wallet contract (ERC-1271). One word of its answer is read, however long it is,
    ///      and a static call cannot change anything.
    function _accepts(address wallet, bytes32 digest, bytes calldata signature)
        private
        view
        returns (bool accepted)
    {
        if (wallet.code.length == 0) return false;
        bytes memory question = abi.encodeWithSelector(ERC1271, digest, signature);
        bytes32 yes = ERC1271;
        assembly ("memory-safe") {
            let done := staticcall(gas(), wallet, add(question, 32), mload(question), 0, 32)
            accepted := and(and(done, gt(returndatasize(), 31)), eq(mload(0), yes))
        }
    }

    /// @dev Return SHA-256 of a byte 1 and two hashes, by the precompile at address 2.
    function _join(bytes32 left, bytes32 right) private view returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 1)
            mstore(add(free, 1), left)
            mstore(add(free, 33), right)
            if iszero(staticcall(gas(), 2, free, 65, 0, 32)) { revert(0, 0) }
            hash := mload(0)
        }
    }
}
