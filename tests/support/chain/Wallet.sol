// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface Registry {
    function commit(bytes32 id, bytes32 snapshot, bytes32 parent) external;
}

/// @dev A wallet contract for the tests, which answers isValidSignature as it is told to.
contract Wallet {
    enum Manner { Honest, WrongWord, Reverting, Short, Dirty, Nothing, Long, Busy, Committing, Failing }

    address private immutable KEY;
    Manner public manner;

    constructor(address key) {
        KEY = key;
    }

    function behave(Manner to) external {
        manner = to;
    }

    /// @dev Calls as this wallet.
    function execute(address to, bytes calldata data) external returns (bytes memory answer) {
        bool done;
        (done, answer) = to.call(data);
        require(done, "the call failed");
    }

    function isValidSignature(bytes32 digest, bytes calldata signature)
        external
        returns (bytes4)
    {
        bool good = signature.length == 65
            && ecrecover(
                digest,
                uint8(signature[64]),
                bytes32(signature[:32]),
                bytes32(signature[32:64])
            ) == KEY;
        if (manner == Manner.WrongWord || !good) return 0xffffffff;
        if (manner == Manner.Reverting) revert("no");
        if (manner == Manner.Busy) while (true) {}
        if (manner == Manner.Committing) {
            // Whatever it asks for, it was called so that nothing can change.
            Registry(msg.sender).commit(digest, digest, digest);
        }
        uint256 length = 32;
        if (manner == Manner.Short) length = 31;
        if (manner == Manner.Nothing) length = 0;
        if (manner == Manner.Long) length = 10_000;
        bytes32 word = bytes4(0x1626ba7e);
        if (manner == Manner.Dirty) word |= bytes32(uint256(1));
        bool failing = manner == Manner.Failing;
        assembly {
            mstore(0, word)
            if failing { revert(0, length) }
            return(0, length)
        }
    }
}
