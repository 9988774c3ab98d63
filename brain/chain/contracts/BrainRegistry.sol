// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title  The heads of brains, each after the one before
/// @notice A brain is the history of what an agent knows; a snapshot is 32 bytes that stand for all
///         of it at one moment. This contract remembers the last snapshot of a brain, and takes the
///         next one only from who may say so, and only if it names the last one as its parent. Of
///         two snapshots made from the same parent the second is refused, so a brain cannot show
///         one history here and another one there.
/// @notice Who has very many brains puts their snapshots into one log, by RFC 6962, and anchors the
///         root of that log: one transaction for all of them.
/// @dev    There is nobody above the owners: no administrator, no upgrade, no pause, no fee. There
///         are no immutable variables either, so the code is the same on every chain, and its hash
///         says that it is this contract.
/// @dev    The storage is part of the interface: evidence is proven against these slots.
///         Slot 0: mapping from id to Brain, so a brain is at keccak256(id . 0): word 0 holds
///         the owner in its low 160 bits and seq above, word 1 the head, word 2 the signer, word 3
///         who was offered the brain. Slot 1: mapping from account to its anchored root.
contract BrainRegistry {
    struct Brain {
        address owner;
        uint64 seq;
        bytes32 head;
        address signer;
        address pending;
    }

    mapping(bytes32 id => Brain) private _brains;
    mapping(address account => bytes32 root) private _anchors;

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant NAME = keccak256("BrainRegistry");
    bytes32 private constant VERSION = keccak256("1");
    bytes32 private constant COMMIT_TYPE = keccak256(
        "Commit(bytes32 brainId,bytes32 snapshot,bytes32 parent,uint64 seq,uint64 deadline)"
    );

    /// @dev What a wallet contract answers to isValidSignature (ERC-1271), and the selector of it.
    bytes4 private constant ERC1271 = 0x1626ba7e;

    /// @dev Half the order of secp256k1. Above it lies, for every signature, its twin.
    uint256 private constant HALF_ORDER =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @notice A brain was opened. `Committed` with seq 1 follows.
    event Opened(bytes32 indexed brainId, address indexed owner, bytes32 indexed salt);

    /// @notice `snapshot` is the head after `parent`, as number `seq` of this brain, from 1.
    event Committed(
        bytes32 indexed brainId, bytes32 indexed snapshot, bytes32 indexed parent, uint64 seq
    );

    /// @notice After number `seq`, `signer` may commit beside the owner; nobody if it is zero.
    event SignerChanged(bytes32 indexed brainId, address indexed signer, uint64 seq);

    /// @notice `owner` offers the brain to `to`; to nobody any more if that is zero.
    event OwnershipOffered(bytes32 indexed brainId, address indexed owner, address indexed to);

    /// @notice After number `seq` the brain is of `to`, and has no signer.
    event OwnershipTransferred(
        bytes32 indexed brainId, address indexed from, address indexed to, uint64 seq
    );

    /// @notice `account` says that `root` is the root of its log of `size` entries.
    event Anchored(address indexed account, bytes32 indexed root, uint64 size);

    /// @notice The caller, or who signed, may not do this. So it is for a brain never opened.
    error Unauthorized();
    /// @notice The parent is not the head, which is `head`, number `seq`. Merge, and commit that.
    error StaleParent(bytes32 head, uint64 seq);
    /// @notice The signature was good until a moment that has passed.
    error Expired();
    /// @notice The caller has opened a brain with this salt already.
    error Exists();
    /// @notice Zero stands for no snapshot.
    error ZeroSnapshot();
    /// @notice Zero stands for no root.
    error ZeroRoot();

    /// @notice Opens a brain of the caller, with its first commitment.
    /// @dev    The id depends on the caller, so nobody can take it from them.
    /// @param  salt What tells the caller's brains apart: the id of the brain's first snapshot.
    /// @param  snapshot The head from now on, number 1, with zero as its parent.
    /// @return id The name of the brain here: `idOf(caller, salt)`.
    function open(bytes32 salt, bytes32 snapshot) external returns (bytes32 id) {
        if (snapshot == 0) revert ZeroSnapshot();
        id = idOf(msg.sender, salt);
        Brain storage brain_ = _brains[id];
        if (brain_.owner != address(0)) revert Exists();
        brain_.owner = msg.sender;
        brain_.seq = 1;
        brain_.head = snapshot;
        emit Opened(id, msg.sender, salt);
        emit Committed(id, snapshot, 0, 1);
    }

    /// @notice Makes `snapshot` the head after `parent`, for the owner or the signer.
    /// @param  id The brain.
    /// @param  snapshot The new head.
    /// @param  parent The head until now.
    function commit(bytes32 id, bytes32 snapshot, bytes32 parent) external {
        Brain storage brain_ = _brains[id];
        address owner = brain_.owner;
        uint64 seq = brain_.seq;
        if (msg.sender != owner && msg.sender != brain_.signer) revert Unauthorized();
        _check(brain_, snapshot, parent, seq);
        _advance(brain_, id, snapshot, parent, seq + 1);
    }

    /// @notice The same for whoever brings a signature of the owner or the signer and pays the gas.
    /// @dev    The signature is over the EIP-712 hash of Commit, whose seq is the one after the
    ///         current one: it can be used once. It is that of a key, 65 bytes r . s . v with v 27
    ///         or 28 and s in the lower half, or what the wallet contract that is the owner or the
    ///         signer accepts by ERC-1271. Other commitments and a change of signer revoke it.
    /// @param  id The brain.
    /// @param  snapshot The new head.
    /// @param  parent The head until now.
    /// @param  deadline The last second since 1970 at which this may be used.
    /// @param  signature Of the owner or the signer.
    function commitFor(
        bytes32 id,
        bytes32 snapshot,
        bytes32 parent,
        uint64 deadline,
        bytes calldata signature
    ) external {
        if (block.timestamp > deadline) revert Expired();
        Brain storage brain_ = _brains[id];
        // Before the signature, which a commitment in between makes worthless: so that is told.
        uint64 seq = brain_.seq;
        _check(brain_, snapshot, parent, seq);
        bytes32 digest = _digest(id, snapshot, parent, seq + 1, deadline);
        if (!_signed(brain_.owner, brain_.signer, digest, signature)) revert Unauthorized();
        _advance(brain_, id, snapshot, parent, seq + 1);
    }

    /// @notice Lets `signer` commit beside the owner, and who did so before no longer.
    /// @param  id The brain, which is the caller's.
    /// @param  signer A key or a wallet contract; zero for nobody.
    function setSigner(bytes32 id, address signer) external {
        Brain storage brain_ = _owned(id);
        brain_.signer = signer;
        emit SignerChanged(id, signer, brain_.seq);
    }

    /// @notice Offers the brain to `to`. It stays the caller's until `to` accepts.
    /// @param  id The brain, which is the caller's.
    /// @param  to Who may accept, in place of any before; zero for nobody.
    function offerOwnership(bytes32 id, address to) external {
        _owned(id).pending = to;
        emit OwnershipOffered(id, msg.sender, to);
    }

    /// @notice Takes over a brain that was offered to the caller. It has no signer afterwards.
    /// @param  id The brain.
    function acceptOwnership(bytes32 id) external {
        Brain storage brain_ = _brains[id];
        if (msg.sender != brain_.pending) revert Unauthorized();
        emit OwnershipTransferred(id, brain_.owner, msg.sender, brain_.seq);
        brain_.owner = msg.sender;
        brain_.signer = address(0);
        brain_.pending = address(0);
    }

    /// @notice Anchors the root of a log of the caller, in place of the one before.
    /// @dev    Nothing is checked of it: that it goes on from the one before is proven by RFC 6962.
    /// @param  root The root.
    /// @param  size The number of entries under it; told in the event alone.
    function anchor(bytes32 root, uint64 size) external {
        if (root == 0) revert ZeroRoot();
        _anchors[msg.sender] = root;
        emit Anchored(msg.sender, root, size);
    }

    /// @notice What is known of a brain; all zero if it was never opened.
    function brain(bytes32 id)
        external
        view
        returns (address owner, uint64 seq, bytes32 head, address signer)
    {
        Brain storage brain_ = _brains[id];
        return (brain_.owner, brain_.seq, brain_.head, brain_.signer);
    }

    /// @notice Who may accept a brain; zero if it is not offered.
    function pendingOwner(bytes32 id) external view returns (address) {
        return _brains[id].pending;
    }

    /// @notice The last root an account anchored; zero if it never did.
    function anchorOf(address account) external view returns (bytes32) {
        return _anchors[account];
    }

    /// @notice The id of the brain that `creator` opened, or may open, with `salt`.
    function idOf(address creator, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(creator, salt));
    }

    /// @notice Says whether a log has a leaf at a place, by RFC 9162, section 2.1.3.2, and SHA-256.
    /// @param  root The root of the log.
    /// @param  index The place of the leaf, from 0.
    /// @param  size The number of entries under the root.
    /// @param  leaf The hash of the leaf: SHA-256 of a zero byte and the entry.
    /// @param  proof The hashes beside the way from the leaf to the root, the lowest first.
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
                // An odd last node has no sibling: it goes up as it is until it has one.
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

    /// @dev Whether a snapshot may follow the head, which is number `seq`.
    function _check(Brain storage brain_, bytes32 snapshot, bytes32 parent, uint64 seq)
        private
        view
    {
        if (snapshot == 0) revert ZeroSnapshot();
        bytes32 head = brain_.head;
        if (head != parent) revert StaleParent(head, seq);
    }

    /// @dev The only way a head moves once a brain is open; the callers have checked all there is.
    function _advance(
        Brain storage brain_,
        bytes32 id,
        bytes32 snapshot,
        bytes32 parent,
        uint64 seq
    ) private {
        brain_.head = snapshot;
        brain_.seq = seq;
        emit Committed(id, snapshot, parent, seq);
    }

    function _owned(bytes32 id) private view returns (Brain storage brain_) {
        brain_ = _brains[id];
        if (msg.sender != brain_.owner) revert Unauthorized();
    }

    function _digest(bytes32 id, bytes32 snapshot, bytes32 parent, uint64 seq, uint64 deadline)
        private
        view
        returns (bytes32)
    {
        bytes32 domain =
            keccak256(abi.encode(DOMAIN_TYPE, NAME, VERSION, block.chainid, address(this)));
        bytes32 message =
            keccak256(abi.encode(COMMIT_TYPE, id, snapshot, parent, seq, deadline));
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }

    /// @dev A key is tried first: an account that has both, by EIP-7702, may still sign with it.
    function _signed(address owner, address signer, bytes32 digest, bytes calldata signature)
        private
        view
        returns (bool)
    {
        address by = _recovered(digest, signature);
        if (by != address(0) && (by == owner || by == signer)) return true;
        return _accepts(owner, digest, signature) || _accepts(signer, digest, signature);
    }

    /// @dev Zero if no key signed this, which is also what ecrecover says.
    function _recovered(bytes32 digest, bytes calldata signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER) return address(0);
        return ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), s);
    }

    /// @dev Of what the wallet returns one word is read, however long it is; it cannot call back
    ///      to any effect, since all it may do is read.
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

    /// @dev SHA-256 of one byte 1 and two hashes, by the precompile at address 2.
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
