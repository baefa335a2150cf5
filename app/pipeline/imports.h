// SPDX-License-Identifier: Apache-2.0
// Where imports of .fuse files are looked up: one way for the command line, the language server and
// Studio. What is given or unsaved comes before it and is the caller's.
#pragma once

#include "app/pipeline/rules.h"

namespace fuselage::app {

/// Folders where imports are looked up as files: beside the files given, then `importPath`.
std::vector<std::string> importFolders(const RuleOptions& options);

/// The first file "FOLDER/PATH.fuse" that is there; empty when none is. Imports stay below their
/// folder.
std::string importedFile(const std::vector<std::string>& folders, const std::string& path);

/// What every front end gives to the language: an import is an embedded file, else one of those.
dsl::ImportResolver importLookup(std::vector<std::string> folders);

} // namespace fuselage::app
