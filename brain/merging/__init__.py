"""Three-way merge of trees and of file contents; pure."""
