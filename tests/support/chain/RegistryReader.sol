// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface Registry {
    function brain(bytes32 id)
        external
        view
        returns (address, uint64, bytes32, address, uint64, uint32);
    function offerOf(bytes32 id) external view returns (address, uint64);
    function disownedBy(bytes32 id, uint64 seq) external view returns (uint64);
    function anchorOf(address account, bytes32 log) external view returns (bytes32);
}

/// @dev Reads all that the tests know of a registry in one call.
contract RegistryReader {
    /// @dev Of each brain: `brain`, `offerOf`, and `disownedBy` of 1 to the number of its head.
    ///      Then each anchor of each account.
    function read(
        Registry registry,
        bytes32[] calldata ids,
        address[] calldata accounts,
        bytes32[] calldata logs
    ) external view returns (bytes memory words) {
        for (uint256 i = 0; i < ids.length; ++i) words = bytes.concat(words, _brain(registry, ids[i]));
        for (uint256 i = 0; i < accounts.length; ++i) {
            for (uint256 j = 0; j < logs.length; ++j) {
                words = bytes.concat(words, registry.anchorOf(accounts[i], logs[j]));
            }
        }
    }

    function _brain(Registry registry, bytes32 id) private view returns (bytes memory words) {
        (address owner, uint64 seq, bytes32 head, address signer, uint64 epoch, uint32 repairs) =
            registry.brain(id);
        (address to, uint64 ends) = registry.offerOf(id);
        words = abi.encode(owner, seq, head, signer, epoch, repairs, to, ends);
        for (uint64 number = 1; number <= seq; ++number) {
            words = bytes.concat(words, abi.encode(registry.disownedBy(id, number)));
        }
    }
}
