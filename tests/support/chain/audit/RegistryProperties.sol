// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {BrainRegistry} from "BrainRegistry.sol";

/// @dev The cheat codes of forge that halmos knows.
interface Cheats {
    function assume(bool condition) external;
    function prank(address sender) external;
    function warp(uint256 time) external;
}

/// @dev The cheat codes of halmos.
interface Symbols {
    function enableSymbolicStorage(address account) external;
    function createBytes(uint256 size, string memory name) external returns (bytes memory);
    function createCalldata(string memory name) external returns (bytes memory);
}

/// @dev A wallet contract that may give any answer to any question.
contract AnyWallet {
    mapping(bytes32 digest => bytes32 word) public answers;

    function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes32) {
        return answers[digest];
    }
}

/// @notice What must hold after any call, in whatever state the registry is.
/// @dev    Proven with halmos 0.3.3. The storage of the registry is
///         symbolic, so each property is a step of an induction over all histories.
contract RegistryProperties {
    struct State {
        address owner;
        uint64 seq;
        bytes32 head;
        address signer;
        uint64 epoch;
        uint32 repairs;
        address offeredTo;
        uint64 offerEnds;
    }

    struct Signature {
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    Cheats private constant CHEATS = Cheats(address(uint160(uint256(keccak256("hevm cheat code")))));
    Symbols private constant SYMBOLS = Symbols(0xF3993A62377BCd56AE39D773740A5390411E8BC9);
    bytes32 private constant YES = bytes32(bytes4(0x1626ba7e));
    uint256 private constant ORDER =
        0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;

    BrainRegistry private registry;
    AnyWallet private wallet;

    function setUp() public {
        registry = new BrainRegistry();
        wallet = new AnyWallet();
        SYMBOLS.enableSymbolicStorage(address(registry));
        SYMBOLS.enableSymbolicStorage(address(wallet));
    }

    // Any call

    /// @notice Numbers only rise, by one; a head moves with the number; rights change with the
    ///         epoch; a brain that is not opened is empty.
    function check_numbers_rise_whatever_is_called(address caller, uint64 time) public {
        (State memory a, State memory b,) = _anyCall(caller, time);
        assert(b.owner != address(0) || _empty(b));
        assert(a.owner == address(0) || b.owner != address(0));
        assert(b.seq == a.seq || b.seq == uint256(a.seq) + 1);
        assert(b.seq != a.seq || b.head == a.head);
        assert(b.seq == 0 || b.head != 0 || a.head == b.head);
        assert(b.epoch == a.epoch || b.epoch == uint256(a.epoch) + 1);
        assert(b.epoch != a.epoch || b.signer == a.signer);
        assert(b.epoch != a.epoch || b.owner == a.owner || a.owner == address(0));
        assert(b.repairs == a.repairs || b.repairs == uint256(a.repairs) + 1);
        assert(b.repairs == a.repairs || (b.seq != a.seq && b.epoch != a.epoch));
    }

    /// @notice Without a permit a stranger changes nothing, and a signer only commits.
    function check_only_those_with_a_right_change_a_brain(address caller, uint64 time) public {
        (State memory a, State memory b, bytes4 selector) = _anyCall(caller, time);
        if (a.owner == address(0) || _isPermit(selector)) return;
        if (caller == a.owner) return;
        if (caller == a.offeredTo) return;
        if (caller != a.signer) assert(_same(a, b));
        assert(_sameRights(a, b) && a.repairs == b.repairs);
    }

    /// @notice A brain is taken over only by who it was offered to, in time, and has no signer then.
    function check_a_brain_changes_hands_by_an_accepted_offer_only(address caller, uint64 time)
        public
    {
        (State memory a, State memory b, bytes4 selector) = _anyCall(caller, time);
        if (a.owner == address(0) || a.owner == b.owner) return;
        assert(selector == BrainRegistry.acceptOwnership.selector);
        assert(caller == a.offeredTo && caller == b.owner && time <= a.offerEnds);
        assert(b.signer == address(0) && b.epoch == a.epoch + 1);
        assert(b.seq == a.seq && b.head == a.head && b.offeredTo == address(0) && b.offerEnds == 0);
    }

    /// @notice A call is about one brain, and a failed call about none.
    function check_no_call_changes_another_brain(bytes32 id, address caller, uint64 time) public {
        bytes memory data = SYMBOLS.createCalldata("BrainRegistry");
        bytes32 target = _target(bytes4(_selector(data)), data, caller);
        (State memory a, State memory b) = _send(data, id, caller, time);
        if (target != id) assert(_same(a, b));
    }

    /// @notice Only an account itself changes what it anchored, one log at a time.
    function check_nobody_changes_the_anchor_of_another(
        address account,
        bytes32 log,
        address caller,
        uint64 time
    ) public {
        bytes32 a = registry.anchorOf(account, log);
        bytes memory data = SYMBOLS.createCalldata("BrainRegistry");
        bytes4 selector = bytes4(_selector(data));
        _send(data, 0, caller, time);
        bytes32 b = registry.anchorOf(account, log);
        if (a == b) return;
        assert(selector == BrainRegistry.anchor.selector && caller == account);
        assert(_word(data, 0) == log && _word(data, 1) == b && b != 0);
    }

    /// @notice What was disowned, and by which commitment, is never changed.
    function check_what_was_disowned_stays_so(bytes32 id, uint64 seq, address caller, uint64 time)
        public
    {
        uint64 a = registry.disownedBy(id, seq);
        bytes memory data = SYMBOLS.createCalldata("BrainRegistry");
        bytes4 selector = bytes4(_selector(data));
        (State memory before, State memory later) = _send(data, id, caller, time);
        uint64 b = registry.disownedBy(id, seq);
        if (a == b) return;
        assert(selector == BrainRegistry.supersede.selector && caller == before.owner);
        assert(seq == later.seq && seq > before.seq && b >= 2 && b <= before.seq);
    }

    // Each function: who may call it, and what it does, to the last field

    function check_open(address caller, bytes32 salt, bytes32 snapshot) public {
        bytes32 id = registry.idOf(caller, salt);
        State memory a = _reachable(id, caller);
        CHEATS.prank(caller);
        (bool done,) = address(registry).call(abi.encodeCall(registry.open, (salt, snapshot)));
        assert(done == (a.owner == address(0) && snapshot != 0));
        if (done) assert(_same(_state(id), _opened(caller, snapshot)));
    }

    function check_commit(address caller, bytes32 id, bytes32 snapshot, bytes32 parent) public {
        State memory a = _reachable(id, caller);
        CHEATS.prank(caller);
        (bool done,) =
            address(registry).call(abi.encodeCall(registry.commit, (id, snapshot, parent)));
        bool may = caller == a.owner || caller == a.signer;
        assert(done == (may && _follows(a, snapshot, parent)));
        if (done) assert(_same(_state(id), _advanced(a, snapshot)));
    }

    function check_setSigner(address caller, bytes32 id, address signer) public {
        State memory a = _reachable(id, caller);
        CHEATS.prank(caller);
        (bool done,) = address(registry).call(abi.encodeCall(registry.setSigner, (id, signer)));
        assert(done == (caller == a.owner && a.epoch != type(uint64).max));
        if (done) assert(_same(_state(id), _withSigner(a, signer)));
    }

    function check_supersede(
        address caller,
        bytes32 id,
        bytes32 snapshot,
        bytes32 head,
        uint64 since
    ) public {
        State memory a = _reachable(id, caller);
        CHEATS.assume(a.epoch != type(uint64).max && a.repairs != type(uint32).max);
        CHEATS.prank(caller);
        (bool done,) =
            address(registry).call(abi.encodeCall(registry.supersede, (id, snapshot, head, since)));
        bool range = since >= 2 && since <= a.seq;
        assert(done == (caller == a.owner && _follows(a, snapshot, head) && range));
        if (!done) return;
        State memory wanted = _withSigner(_advanced(a, snapshot), address(0));
        ++wanted.repairs;
        assert(_same(_state(id), wanted));
        assert(registry.disownedBy(id, wanted.seq) == since);
    }

    function check_offerOwnership(
        address caller,
        bytes32 id,
        address to,
        uint64 ends,
        uint64 time
    ) public {
        State memory a = _reachable(id, caller);
        CHEATS.warp(time);
        CHEATS.prank(caller);
        (bool done,) =
            address(registry).call(abi.encodeCall(registry.offerOwnership, (id, to, ends)));
        assert(done == (caller == a.owner && (to == address(0) || time <= ends)));
        if (!done) return;
        State memory b = _state(id);
        a.offeredTo = to;
        if (to == address(0)) a.offerEnds = b.offerEnds;
        else a.offerEnds = ends;
        assert(_same(b, a));
    }

    function check_acceptOwnership(address caller, bytes32 id, uint64 time) public {
        State memory a = _reachable(id, caller);
        CHEATS.assume(a.epoch != type(uint64).max);
        CHEATS.warp(time);
        CHEATS.prank(caller);
        (bool done,) = address(registry).call(abi.encodeCall(registry.acceptOwnership, (id)));
        assert(done == (caller == a.offeredTo && time <= a.offerEnds));
        if (!done) return;
        a.owner = caller;
        a.offeredTo = address(0);
        a.offerEnds = 0;
        assert(_same(_state(id), _withSigner(a, address(0))));
    }

    function check_anchor(address caller, bytes32 log, bytes32 checkpoint) public {
        CHEATS.prank(caller);
        (bool done,) = address(registry).call(abi.encodeCall(registry.anchor, (log, checkpoint)));
        assert(done == (checkpoint != 0));
        if (done) assert(registry.anchorOf(caller, log) == checkpoint);
    }

    // Permits: valid only over every field, the domain, the next seq and the epoch

    function check_commitFor(
        bytes32 id,
        bytes32 snapshot,
        bytes32 parent,
        uint64 deadline,
        uint64 time,
        Signature memory by
    ) public {
        State memory a = _reachable(id, address(1));
        bytes32 digest = _commitDigest(id, snapshot, parent, a, deadline);
        CHEATS.warp(time);
        (bool done,) = address(registry).call(
            abi.encodeCall(registry.commitFor, (id, snapshot, parent, deadline, _bytes(by)))
        );
        bool may = _permits(a.owner, digest, by) || _permits(a.signer, digest, by);
        assert(done == (may && time <= deadline && _follows(a, snapshot, parent)));
        if (done) assert(_same(_state(id), _advanced(a, snapshot)));
    }

    function check_openFor(
        address owner,
        bytes32 salt,
        bytes32 snapshot,
        uint64 deadline,
        uint64 time,
        Signature memory by
    ) public {
        bytes32 id = registry.idOf(owner, salt);
        State memory a = _reachable(id, address(1));
        bytes32 digest = _digest(
            keccak256(
                abi.encode(
                    keccak256("Open(address owner,bytes32 salt,bytes32 snapshot,uint64 deadline)"),
                    owner,
                    salt,
                    snapshot,
                    deadline
                )
            )
        );
        CHEATS.warp(time);
        (bool done,) = address(registry).call(
            abi.encodeCall(registry.openFor, (owner, salt, snapshot, deadline, _bytes(by)))
        );
        bool may = _permits(owner, digest, by);
        assert(done == (may && time <= deadline && a.owner == address(0) && snapshot != 0));
        if (done) assert(_same(_state(id), _opened(owner, snapshot)));
    }

    function check_setSignerFor(
        bytes32 id,
        address signer,
        uint64 deadline,
        uint64 time,
        Signature memory by
    ) public {
        State memory a = _reachable(id, address(1));
        CHEATS.assume(a.epoch != type(uint64).max);
        bytes32 digest = _setSignerDigest(id, signer, a.epoch, deadline);
        CHEATS.warp(time);
        (bool done,) = address(registry).call(
            abi.encodeCall(registry.setSignerFor, (id, signer, deadline, _bytes(by)))
        );
        assert(done == (_permits(a.owner, digest, by) && time <= deadline));
        if (done) assert(_same(_state(id), _withSigner(a, signer)));
    }

    /// @notice What has not 65 bytes is a signature only if a wallet contract says so.
    function check_other_lengths_are_for_wallets(
        bytes32 id,
        bytes32 snapshot,
        bytes32 parent,
        uint64 deadline
    ) public {
        State memory a = _reachable(id, address(1));
        bytes32 digest = _commitDigest(id, snapshot, parent, a, deadline);
        bytes memory signature = SYMBOLS.createBytes(64, "signature");
        (bool done,) = address(registry).call(
            abi.encodeCall(registry.commitFor, (id, snapshot, parent, deadline, signature))
        );
        bool asked = a.owner == address(wallet) || a.signer == address(wallet);
        if (done) assert(asked && wallet.answers(digest) == YES);
    }

    /// @notice A wallet contract is asked about this permit: its yes to any other counts for none.
    function check_a_wallet_is_asked_about_this_permit(bytes32 id, address signer, uint64 deadline)
        public
    {
        State memory a = _reachable(id, address(1));
        CHEATS.assume(a.owner == address(wallet));
        CHEATS.assume(wallet.answers(_setSignerDigest(id, signer, a.epoch, deadline)) != YES);
        (bool done,) =
            address(registry).call(abi.encodeCall(registry.setSignerFor, (id, signer, deadline, "")));
        assert(!done);
    }

    // What the properties are made of

    /// @dev Make any call; return what it changes of the brain that it is about.
    function _anyCall(address caller, uint64 time)
        private
        returns (State memory a, State memory b, bytes4 selector)
    {
        bytes memory data = SYMBOLS.createCalldata("BrainRegistry");
        selector = bytes4(_selector(data));
        (a, b) = _send(data, _target(selector, data, caller), caller, time);
    }

    /// @dev Make a call; return what it changes of a brain.
    function _send(bytes memory data, bytes32 id, address caller, uint64 time)
        private
        returns (State memory a, State memory b)
    {
        a = _reachable(id, caller);
        CHEATS.warp(time);
        CHEATS.prank(caller);
        (bool done,) = address(registry).call(data);
        b = _state(id);
        if (!done) assert(_same(a, b));
    }

    /// @dev Nobody has the key of account zero, and the registry calls nobody. Word 0 of a brain
    ///      is written when it is opened; before that it is empty.
    function _reachable(bytes32 id, address caller) private returns (State memory a) {
        CHEATS.assume(caller != address(0) && caller != address(registry));
        a = _state(id);
        CHEATS.assume(a.owner == address(0) ? _empty(a) : a.seq != 0 && a.head != 0);
    }

    function _state(bytes32 id) private view returns (State memory s) {
        (s.owner, s.seq, s.head, s.signer, s.epoch, s.repairs) = registry.brain(id);
        (s.offeredTo, s.offerEnds) = registry.offerOf(id);
    }

    function _empty(State memory s) private pure returns (bool) {
        State memory nothing;
        return _same(s, nothing);
    }

    function _same(State memory a, State memory b) private pure returns (bool) {
        return _sameRights(a, b) && a.seq == b.seq && a.head == b.head && a.repairs == b.repairs;
    }

    function _sameRights(State memory a, State memory b) private pure returns (bool) {
        return a.owner == b.owner && a.signer == b.signer && a.epoch == b.epoch
            && a.offeredTo == b.offeredTo && a.offerEnds == b.offerEnds;
    }

    function _opened(address owner, bytes32 snapshot) private pure returns (State memory s) {
        s.owner = owner;
        s.seq = 1;
        s.head = snapshot;
    }

    function _follows(State memory a, bytes32 snapshot, bytes32 parent)
        private
        pure
        returns (bool)
    {
        return snapshot != 0 && parent == a.head && a.seq != type(uint64).max;
    }

    function _advanced(State memory a, bytes32 snapshot) private pure returns (State memory) {
        a.head = snapshot;
        ++a.seq;
        return a;
    }

    function _withSigner(State memory a, address signer) private pure returns (State memory) {
        a.signer = signer;
        ++a.epoch;
        return a;
    }

    function _isPermit(bytes4 selector) private pure returns (bool) {
        return selector == BrainRegistry.openFor.selector
            || selector == BrainRegistry.commitFor.selector
            || selector == BrainRegistry.setSignerFor.selector;
    }

    /// @dev Return the brain that a call is about; zero for none.
    function _target(bytes4 selector, bytes memory data, address caller)
        private
        view
        returns (bytes32)
    {
        if (selector == BrainRegistry.anchor.selector) return ~bytes32(0);
        if (selector == BrainRegistry.open.selector) return registry.idOf(caller, _word(data, 0));
        if (selector == BrainRegistry.openFor.selector) {
            return registry.idOf(address(uint160(uint256(_word(data, 0)))), _word(data, 1));
        }
        return _word(data, 0);
    }

    function _selector(bytes memory data) private pure returns (bytes32 word) {
        assembly ("memory-safe") {
            word := mload(add(data, 32))
        }
    }

    function _word(bytes memory data, uint256 place) private pure returns (bytes32 word) {
        assembly ("memory-safe") {
            word := mload(add(data, add(36, mul(place, 32))))
        }
    }

    function _bytes(Signature memory by) private pure returns (bytes memory) {
        return abi.encodePacked(by.r, by.s, by.v);
    }

    function _permits(address account, bytes32 digest, Signature memory by)
        private
        view
        returns (bool)
    {
        if (account == address(0)) return false;
        if (uint256(by.s) <= ORDER / 2 && ecrecover(digest, by.v, by.r, by.s) == account) {
            return true;
        }
        return account == address(wallet) && wallet.answers(digest) == YES;
    }

    function _commitDigest(
        bytes32 id,
        bytes32 snapshot,
        bytes32 parent,
        State memory a,
        uint64 deadline
    ) private view returns (bytes32) {
        // At the last number every call fails; the digest is of no account then.
        uint64 seq = a.seq == type(uint64).max ? 0 : a.seq + 1;
        bytes32 kind = keccak256(
            "Commit(bytes32 brainId,bytes32 snapshot,bytes32 parent,uint64 seq,uint64 epoch,uint64 deadline)"
        );
        return _digest(keccak256(abi.encode(kind, id, snapshot, parent, seq, a.epoch, deadline)));
    }

    function _setSignerDigest(bytes32 id, address signer, uint64 epoch, uint64 deadline)
        private
        view
        returns (bytes32)
    {
        bytes32 kind =
            keccak256("SetSigner(bytes32 brainId,address signer,uint64 epoch,uint64 deadline)");
        return _digest(keccak256(abi.encode(kind, id, signer, epoch, deadline)));
    }

    function _digest(bytes32 message) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("BrainRegistry"),
                keccak256("2"),
                block.chainid,
                address(registry)
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }
}
