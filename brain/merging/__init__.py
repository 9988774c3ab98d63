"""Three-way merge by meaning, over trees and over the content of files; pure."""
