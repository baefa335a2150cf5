// SPDX-License-Identifier: Apache-2.0
#include "dsl/resolve.h"

#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"
#include "dsl/names_elsewhere.h"
#include "dsl/suggest.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace fuselage::dsl {

namespace {

constexpr size_t importDepthLimit = 64;
constexpr const char* formsPath = "std/forms";
constexpr std::string_view microsoft = "com.microsoft";

std::vector<std::string> keysOf(const Names& names) {
    std::vector<std::string> out = operatorNames();
    out.insert(out.end(), publishedNames().begin(), publishedNames().end());
    for (auto& [name, ops] : names.classes)
        out.push_back(name);
    return out;
}

void mergeInto(Names& into, const Names& from) {
    into.patterns.insert(from.patterns.begin(), from.patterns.end());
    into.classes.insert(from.classes.begin(), from.classes.end());
    into.functions.insert(from.functions.begin(), from.functions.end());
    into.operators.insert(from.operators.begin(), from.operators.end());
    into.places.insert(from.places.begin(), from.places.end());
}

} // namespace

const std::map<std::string, Op>& operatorsByName() {
    static const std::map<std::string, Op> names = [] {
        std::map<std::string, Op> out;
        for (const OpRow& row : allRows()) {
            if (row.op == Op::Unknown || row.op == Op::Fused)
                continue;
            const std::string name = row.name;
            const bool taken = row.domain == microsoft && opFromName("", name);
            out.emplace(taken ? "Ms" + name : name, row.op);
        }
        return out;
    }();
    return names;
}

const std::vector<std::string>& operatorNames() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> out;
        for (const auto& [name, op] : operatorsByName())
            out.push_back(name);
        return out;
    }();
    return names;
}

std::optional<Op> operatorNamed(const std::string& name) {
    const auto& known = operatorsByName();
    if (auto found = known.find(name); found != known.end())
        return found->second;
    if (name.find('.') == std::string::npos)
        return std::nullopt;
    const auto [domain, bare] = splitOperator(name);
    return opFromName(domain, bare);
}

std::pair<std::string, std::string> splitOperator(const std::string& name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos)
        return {"", name};
    const std::string domain = name.substr(0, dot);
    return {domain == "ai.onnx" ? "" : domain, name.substr(dot + 1)};
}

CustomOperatorPtr publishedAs(const std::string& domain, const std::string& name) {
    const OpSchema* schema = publishedSchema(domain, name, INT64_MAX);
    auto out = std::make_shared<CustomOperator>();
    out->domain = domain;
    out->name = name;
    if (!schema)
        return out;
    out->isKnown = true;
    out->attributes = schema->attributes;
    out->maxInputs = schema->inputs.size();
    out->maxOutputs = schema->outputs.size();
    for (const OperandSchema& input : schema->inputs) {
        out->inputs.push_back(input.name);
        if (!input.optional && !input.variadic)
            out->minInputs = out->inputs.size();
        if (input.variadic)
            out->maxInputs = SIZE_MAX;
    }
    for (const OperandSchema& output : schema->outputs)
        if (output.variadic)
            out->maxOutputs = SIZE_MAX;
    return out;
}

namespace {

using Published = std::map<std::string, CustomOperatorPtr>;

/// With and without their domain, where the bare name means no other operator.
const Published& published() {
    static const Published all = [] {
        Published out;
        for (const std::string& name : publishedOperators()) {
            const auto [domain, bare] = splitOperator(name);
            if (opFromName(domain, bare))
                continue;
            const CustomOperatorPtr made = publishedAs(domain, bare);
            out.emplace(domain.empty() ? "ai.onnx." + bare : name, made);
            const bool isShort = domain.empty() || domain == microsoft;
            if (isShort && !operatorsByName().contains(bare) &&
                (domain.empty() || !publishedSchema("", bare, INT64_MAX)))
                out.emplace(bare, made);
        }
        return out;
    }();
    return all;
}

} // namespace

CustomOperatorPtr publishedNamed(const std::string& name) {
    const Published& known = published();
    const auto found = known.find(name);
    return found == known.end() ? nullptr : found->second;
}

const std::vector<std::string>& publishedNames() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> out;
        for (const auto& [name, custom] : published())
            out.push_back(name);
        return out;
    }();
    return names;
}

bool hasSchema(Op op) {
    const OpRow& row = rowOf(op);
    return row.infer || row.reference || row.tape;
}

namespace {

OperatorSet setOf(CustomOperatorPtr custom) {
    return {{Op::Unknown, Op::Fused}, {std::move(custom)}};
}

/// The published operator that an unknown one of the same domain, or of the same name in a domain
/// that is spelled alike, may be a slip of; empty: none.
std::string meantOperator(const std::string& name, const Names& names) {
    const auto [domain, bare] = splitOperator(name);
    std::vector<std::string> ofDomain, ofName;
    auto consider = [&](const std::string& known) {
        const auto [itsDomain, itsName] = splitOperator(known);
        if (itsDomain == domain)
            ofDomain.push_back(known);
        else if (itsName == bare)
            ofName.push_back(itsDomain);
    };
    for (const std::string& known : publishedOperators())
        consider(known);
    if (ofDomain.empty())
        for (const auto& [known, declared] : names.operators)
            consider(known);
    if (std::string near = closest(name, ofDomain); !near.empty())
        return near;
    const std::string nearDomain = closest(domain, ofName);
    return nearDomain.empty() ? "" : nearDomain + "." + bare;
}

/// Once for each name of a file.
void noteUndeclared(const ast::Name& name, const std::string& near, Diagnostics& diagnostics) {
    const std::string message = "nobody declared `" + name.text + "`";
    const bool isKnown = std::any_of(
        diagnostics.all().begin(), diagnostics.all().end(), [&](const Diagnostic& other) {
            return other.span.source == name.span.source && other.message == message;
        });
    if (isKnown)
        return;
    Diagnostic& d = diagnostics.add(Severity::Note, "N0225", name.span, message);
    d.found = "an operator that is known by domain and name only";
    const auto [domain, bare] = splitOperator(name.text);
    if (near.empty() && isModuleElsewhere(domain))
        d.fix = operatorFix(bare, operatorNames(), "write the name of an ONNX operator");
    else
        d.fix = didYouMean(near, "say what it takes: `op " + name.text + "(x) -> y;`");
}

} // namespace

std::optional<OperatorSet> operatorsNamed(const ast::Name& name, const Names& names,
                                          Diagnostics& diagnostics) {
    if (auto found = names.classes.find(name.text); found != names.classes.end())
        return found->second;
    if (auto declared = names.operators.find(name.text); declared != names.operators.end())
        return setOf(declared->second.custom);
    if (auto op = operatorNamed(name.text))
        return OperatorSet{{*op}, {}};
    if (CustomOperatorPtr published = publishedNamed(name.text))
        return setOf(std::move(published));
    if (name.text.find('.') == std::string::npos)
        return std::nullopt;
    const std::string near = meantOperator(name.text, names);
    const auto [domain, bare] = splitOperator(name.text);
    const bool isStandard = domain.empty() || domain == microsoft || domain.starts_with("ai.onnx.");
    if (!near.empty() && (isStandard || splitOperator(near).first != domain)) {
        Diagnostic& d =
            diagnostics.error("E0201", name.span, "there is no operator `" + name.text + "`");
        d.fix = didYouMean(near, "");
        return OperatorSet();
    }
    noteUndeclared(name, near, diagnostics);
    return setOf(publishedAs(domain, bare));
}

Library::Library(SourceSet& sources, Diagnostics& diagnostics, const ImportResolver& resolver)
    : m_sources(sources), m_diagnostics(diagnostics), m_resolver(resolver) {}

void Library::add(const std::string& name, std::string text) {
    load(m_sources.add(name, std::move(text)), 0);
    shareNames();
}

void Library::offer(const std::string& path, const std::string& name, std::string text) {
    m_offered[path] = m_sources.add(name, std::move(text));
}

void Library::addOffered(const std::string& path) {
    auto [loaded, isNew] = m_imported.emplace(path, m_offered.at(path));
    if (isNew)
        load(loaded->second, 0);
    shareNames();
}

const Names& Library::namesOf(uint32_t source) const {
    static const Names nothing;
    auto found = m_names.find(source);
    return found == m_names.end() ? nothing : found->second;
}

const ast::Pattern* Library::made(const std::string& name, const std::string& text) const {
    auto [known, isNew] = m_made.try_emplace(text);
    if (isNew)
        known->second = std::make_unique<ParsedFile>(parse(m_sources, m_sources.add(name, text)));
    const ParsedFile& parsed = *known->second;
    const auto* pattern =
        parsed.file.items.empty() ? nullptr : std::get_if<ast::Pattern>(&parsed.file.items[0]);
    return parsed.diagnostics.hasErrors() ? nullptr : pattern;
}

void Library::load(uint32_t source, size_t depth) {
    auto parsed = std::make_unique<ParsedFile>(parse(m_sources, source));
    m_diagnostics.append(parsed->diagnostics);
    loadForms(*parsed, depth);
    Names names;
    for (const ast::Item& item : parsed->file.items)
        if (auto* import = std::get_if<ast::Import>(&item))
            this->import(*import, source, names, depth);
    collect(*parsed, names);
    m_names[source] = std::move(names);
    m_files.push_back(std::move(parsed));
}

void Library::loadForms(const ParsedFile& parsed, size_t depth) {
    const std::string& text = m_sources[parsed.file.source].text();
    bool asks = std::any_of(parsed.tokens.begin(), parsed.tokens.end(), [&](const Token& token) {
        return token.kind == Token::Kind::Word && textOf(token, text) == "spec";
    });
    auto offered = m_offered.find(formsPath);
    if (!asks || m_imported.contains(formsPath) || (offered == m_offered.end() && !m_resolver))
        return;
    std::optional<uint32_t> source;
    if (offered != m_offered.end())
        source = offered->second;
    else if (Result<std::string> found = m_resolver(formsPath)) // who has no library has no forms
        source = m_sources.add(formsPath, std::move(*found));
    if (!source)
        return;
    m_imported.emplace(formsPath, *source);
    load(*source, depth + 1);
}

std::optional<uint32_t> Library::sourceOf(const ast::Import& import, size_t depth) {
    auto offered = m_offered.find(import.path);
    bool tooDeep = depth > importDepthLimit;
    if (offered != m_offered.end() && !tooDeep)
        return offered->second;
    Result<std::string> text =
        m_resolver ? m_resolver(import.path) : failure("import.missing", "imports are not allowed");
    if (text && !tooDeep)
        return m_sources.add(import.path, std::move(*text));
    Diagnostic& d =
        m_diagnostics.error("E0202", import.span, "import `" + import.path + "` cannot be loaded");
    d.found = text ? "imports nested too deep" : text.error().text();
    d.fix = "write a path of the standard library, such as `std/activation`";
    return std::nullopt;
}

void Library::import(const ast::Import& import, uint32_t from, Names& into, size_t depth) {
    auto known = m_imported.find(import.path);
    if (known == m_imported.end()) {
        auto source = sourceOf(import, depth);
        if (!source)
            return;
        // Known before it is loaded: files may import each other.
        known = m_imported.emplace(import.path, *source).first;
        load(*source, depth + 1);
    }
    m_imports[from].push_back(known->second);
    m_hasCircle = m_hasCircle || !m_names.contains(known->second);
    mergeInto(into, namesOf(known->second));
}

void Library::shareNames() {
    auto sizeOf = [](const Names& names) { return names.places.size(); };
    for (bool changes = m_hasCircle; changes;) {
        changes = false;
        for (const auto& [source, imports] : m_imports)
            for (uint32_t import : imports) {
                const size_t before = sizeOf(m_names[source]);
                mergeInto(m_names[source], namesOf(import));
                changes = changes || sizeOf(m_names[source]) != before;
            }
    }
    m_hasCircle = false;
}

bool Library::claim(const std::string& what, const ast::Name& name, Names& names) {
    auto [place, isNew] = names.places.emplace(name.text, name.span);
    if (!isNew && place->second.source != name.span.source) {
        // A file may define a name of its own in place of an imported one.
        names.patterns.erase(name.text);
        names.classes.erase(name.text);
        names.functions.erase(name.text);
        names.operators.erase(name.text);
        place->second = name.span;
        isNew = true;
    }
    bool isOperator =
        what != "function" && (operatorNamed(name.text).has_value() || publishedNamed(name.text));
    if (isNew && !isOperator)
        return true;
    Diagnostic& d = m_diagnostics.error("E0203", name.span,
                                        what + " `" + name.text + "` has a name that is taken");
    d.found = isOperator ? "an operator of that name" : "another definition of that name";
    d.fix = "choose another name";
    if (!isNew)
        d.labels.push_back({place->second, "first defined here"});
    return false;
}

void Library::collect(const ParsedFile& parsed, Names& names) {
    for (const ast::Item& item : parsed.file.items) {
        if (auto* pattern = std::get_if<ast::Pattern>(&item)) {
            if (claim("pattern", pattern->name, names))
                names.patterns[pattern->name.text] = pattern;
        } else if (auto* function = std::get_if<ast::Function>(&item)) {
            if (claim("function", function->name, names))
                names.functions[function->name.text] = function;
        } else if (auto* group = std::get_if<ast::Class>(&item)) {
            if (claim("class", group->name, names))
                collectClass(*group, names);
        } else if (auto* declared = std::get_if<ast::Operator>(&item)) {
            if (claim("operator", declared->pattern.name, names))
                collectOperator(*declared, names);
        }
    }
}

CustomOperator declaredBy(const ast::Operator& item) {
    CustomOperator made;
    std::tie(made.domain, made.name) = splitOperator(item.pattern.name.text);
    made.isKnown = true;
    for (const ast::Parameter& parameter : item.pattern.parameters) {
        made.inputs.push_back(parameter.name.text);
        if (!parameter.mayBeAbsent)
            made.minInputs = made.inputs.size();
    }
    made.maxInputs = made.inputs.size();
    made.maxOutputs = item.pattern.results.size();
    for (const ast::OperatorAttribute& attribute : item.attributes)
        made.attributes.push_back(
            {attribute.name.text, attribute.type.text, !attribute.fallback.has_value(), {}});
    std::sort(made.attributes.begin(), made.attributes.end(),
              [](const AttributeSchema& a, const AttributeSchema& b) { return a.name < b.name; });
    return made;
}

void Library::collectOperator(const ast::Operator& item, Names& names) {
    names.operators[item.pattern.name.text] = {&item,
                                               std::make_shared<CustomOperator>(declaredBy(item))};
}

void Library::collectClass(const ast::Class& item, Names& names) {
    OperatorSet set;
    std::vector<Op>& ops = set.ops;
    auto join = [&](const OperatorSet& other) {
        ops.insert(ops.end(), other.ops.begin(), other.ops.end());
        set.custom.insert(set.custom.end(), other.custom.begin(), other.custom.end());
    };
    for (const ast::ClassMember& member : item.members) {
        if (member.isTrait) {
            if (auto trait = traitFromName(member.name.text)) {
                std::vector<Op> more = opsWithTrait(*trait);
                ops.insert(ops.end(), more.begin(), more.end());
                continue;
            }
            Diagnostic& d = m_diagnostics.error("E0204", member.name.span,
                                                "there is no trait `@" + member.name.text + "`");
            d.expected = "@elementwise, @commutative, @reduction, @view, @movement, @contraction, "
                         "@window, @normalization ...";
            d.fix = "write a trait of the op table, or operator names";
        } else if (auto named = operatorsNamed(member.name, names, m_diagnostics)) {
            join(*named);
        } else {
            Diagnostic& d =
                m_diagnostics.error("E0201", member.name.span,
                                    "there is no operator or class `" + member.name.text + "`");
            d.fix = didYouMean(operatorMeant(member.name.text, keysOf(names)),
                               "write the name of an ONNX operator");
        }
    }
    std::sort(ops.begin(), ops.end());
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
    names.classes[item.name.text] = std::move(set);
}

} // namespace fuselage::dsl
