// SPDX-License-Identifier: Apache-2.0
// The names of .fuse files: loads a file and what it imports, and knows for each file which
// patterns, classes and functions it sees. Operators come from the op table. Does not look inside
// rules; dsl/compile does, and asks here.
#pragma once

#include "core/graph/op.h"
#include "core/rewrite/custom_operator.h"
#include "core/support/diagnostic.h"
#include "core/support/result.h"
#include "dsl/parse.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::dsl {

/// The text of an import ("std/activation"), or why there is none.
using ImportResolver = std::function<Result<std::string>(const std::string& path)>;

/// Operators that a class or a name stands for.
struct OperatorSet {
    std::vector<Op> ops;                   ///< sorted
    std::vector<CustomOperatorPtr> custom; ///< those without a row in the op table
};

/// An `op` item and what rules know of the operator.
struct DeclaredOperator {
    const ast::Operator* item = nullptr;
    std::shared_ptr<CustomOperator> custom; ///< its body is filled in by dsl/compile
};

/// What an upper-case name means in one file.
struct Names {
    std::map<std::string, const ast::Pattern*> patterns;
    std::map<std::string, OperatorSet> classes;
    std::map<std::string, DeclaredOperator> operators; ///< by "com.acme.Gated"
    std::map<std::string, const ast::Function*> functions;
    std::map<std::string, Span> places; ///< where each of them is defined
};

/// What a name of a match stands for: a class, or an operator of any domain. Notes where nobody
/// declared it; an empty set after the error that its domain has none of that name; none where the
/// name is no operator at all.
std::optional<OperatorSet> operatorsNamed(const ast::Name& name, const Names& names,
                                          Diagnostics& diagnostics);

/// All files of one load.
class Library {
public:
    Library(SourceSet& sources, Diagnostics& diagnostics, const ImportResolver& resolver);

    /// Parses a text and everything that it imports.
    void add(const std::string& name, std::string text);

    /// A text that imports of this path mean, before what the resolver knows by it.
    void offer(const std::string& path, const std::string& name, std::string text);
    /// Adds an offered text, unless an import did so already.
    void addOffered(const std::string& path);

    /// Files in the order in which their rules apply: imports before the file that names them.
    const std::vector<std::unique_ptr<ParsedFile>>& files() const { return m_files; }

    /// What the items of a source see: its own names and those of its imports, also indirect ones.
    const Names& namesOf(uint32_t source) const;

    const SourceSet& sources() const { return m_sources; }

    /// The pattern of a text that no file has, one pattern as dsl/body_pattern writes it. Null
    /// where it has errors; `name` is what the text is called.
    const ast::Pattern* made(const std::string& name, const std::string& text) const;

private:
    void load(uint32_t source, size_t depth);
    /// Where an import's text is; none after reporting that there is none.
    std::optional<uint32_t> sourceOf(const ast::Import& import, size_t depth);
    void import(const ast::Import& import, uint32_t from, Names& into, size_t depth);
    /// Loads the forms of the standard library for a file with a `spec`, as if it imported them.
    void loadForms(const ParsedFile& parsed, size_t depth);
    void collect(const ParsedFile& parsed, Names& names);
    void collectClass(const ast::Class& item, Names& names);
    void collectOperator(const ast::Operator& item, Names& names);
    /// Files that import each other see each other's names.
    void shareNames();
    bool claim(const std::string& what, const ast::Name& name, Names& names);

    SourceSet& m_sources;
    Diagnostics& m_diagnostics;
    const ImportResolver& m_resolver;
    std::vector<std::unique_ptr<ParsedFile>> m_files;
    std::map<uint32_t, Names> m_names;
    std::map<uint32_t, std::vector<uint32_t>> m_imports; ///< of a source
    bool m_hasCircle = false; ///< some import was of a file that is not read to its end yet
    std::map<std::string, uint32_t> m_offered;                         ///< path -> source
    std::map<std::string, uint32_t> m_imported;                        ///< path -> source, loaded
    mutable std::map<std::string, std::unique_ptr<ParsedFile>> m_made; ///< by text
};

/// Every operator of the op table by the name that rules write: its own, with `Ms` before it where
/// it is of com.microsoft and ONNX has the name too (MsAttention). operatorNamed knows it with its
/// domain too, "com.microsoft.Attention".
const std::map<std::string, Op>& operatorsByName();
const std::vector<std::string>& operatorNames();
std::optional<Op> operatorNamed(const std::string& name);

/// What is published of the operator of that domain and name, also where it has a row; only domain
/// and name where nothing is.
CustomOperatorPtr publishedAs(const std::string& domain, const std::string& name);

/// An operator that is published and has no row: "GroupQueryAttention" (of com.microsoft, where
/// ONNX has none of the name), "TensorScatter", "ai.onnx.ml.Scaler"; null where there is none.
CustomOperatorPtr publishedNamed(const std::string& name);
/// The names of all of these, as a rule writes them.
const std::vector<std::string>& publishedNames();

/// What an `op` item says of its operator, without defaults and body.
CustomOperator declaredBy(const ast::Operator& item);

/// Domain and name of "com.acme.Gated"; the domain of ai.onnx is "".
std::pair<std::string, std::string> splitOperator(const std::string& name);

/// True when the op table says what the operator does; without it nothing can be checked.
bool hasSchema(Op op);

} // namespace fuselage::dsl
