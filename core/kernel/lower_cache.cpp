// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/lower_cache.h"

#include <algorithm>
#include <cstring>

namespace fuselage {

namespace {

/// Larger integer constants (tables of indices) are no keys.
constexpr int64_t mostIntegers = 4096;
/// Other constants up to this many elements are parts of keys as they are.
constexpr int64_t fewElements = 64;

/// Whether all elements are equal numbers; stops at the first that differs.
bool isUniform(const Tensor& tensor) {
    const std::byte* bytes = tensor.bytes();
    const size_t size = tensor.byteCount(), element = sizeOf(tensor.dtype());
    // Each byte equals the one an element before it.
    if (std::memcmp(bytes, bytes + element, size - element) == 0)
        return true;
    if (tensor.at(0) != 0) // equal numbers of different bytes are zeros
        return false;
    int64_t at = 1;
    while (at < tensor.elementCount() && tensor.at(at) == 0)
        ++at;
    return at == tensor.elementCount();
}

} // namespace

void BodyKey::add(const std::string& text) {
    // With its length, so that no text can look like what stands around it.
    add(text.size());
    m_text += text;
}

void BodyKey::add(const Type& type) {
    add(static_cast<uint64_t>(type.kind) << 16U | static_cast<uint64_t>(type.dtype) << 8U |
        static_cast<uint64_t>(type.ofSequence) << 1U | static_cast<uint64_t>(type.hasRank()));
    if (!type.hasRank())
        return;
    add(type.rank());
    for (const Dim& dim : *type.shape)
        if (dim.isNumber()) {
            add(uint64_t{0});
            add(static_cast<uint64_t>(dim.value()));
        } else {
            add(uint64_t{1});
            add(dim.text());
        }
}

void BodyKey::add(const Tensor& constant) {
    add(constant.type());
    if (!constant.defined() || constant.dtype() == DType::String) {
        m_opaque = true;
        return;
    }
    const bool all = !isFloat(constant.dtype()) || constant.elementCount() <= fewElements;
    m_opaque = m_opaque || (all && constant.elementCount() > mostIntegers);
    if (m_opaque) // nobody asks for the text any more
        return;
    const size_t read = all                   ? constant.byteCount()
                        : isUniform(constant) ? sizeOf(constant.dtype())
                                              : 0;
    add(read);
    if (read > 0)
        m_text.append(reinterpret_cast<const char*>(constant.bytes()), read);
}

void BodyKey::add(const Attributes& attributes) {
    add(attributes.size());
    for (const Attributes::Entry& entry : attributes) {
        add(entry.name);
        add(entry.value.index());
        if (const auto* tensor = std::get_if<TensorPtr>(&entry.value); tensor && *tensor)
            add(**tensor);
        else if (const auto* one = std::get_if<int64_t>(&entry.value))
            add(static_cast<uint64_t>(*one));
        else if (const auto* list = std::get_if<std::vector<int64_t>>(&entry.value)) {
            add(list->size());
            for (int64_t each : *list)
                add(static_cast<uint64_t>(each));
        } else if (const auto* number = std::get_if<double>(&entry.value)) {
            uint64_t bits = 0;
            std::memcpy(&bits, number, sizeof bits);
            add(bits);
        } else if (std::holds_alternative<std::shared_ptr<Graph>>(entry.value)) {
            m_opaque = true;
        } else {
            add(text(entry.value));
        }
    }
}

void BodyKey::addOperator(const Node& node) {
    m_opaque = m_opaque || node.op == Op::Unknown || node.body;
    add(static_cast<uint64_t>(node.op) << 32U | node.explicitInputs);
    add(node.attributes);
}

std::optional<std::string> keyOf(const LowerRequest& request) {
    const Graph& body = *request.body;
    BodyKey key;
    auto addIds = [&](const std::vector<ValueId>& ids) {
        key.add(ids.size());
        for (ValueId id : ids)
            key.add(id.valid() ? id.index() : ~uint64_t{0});
    };
    key.add(uint64_t{request.strict});
    for (NodeId id : body.nodes()) {
        const Node& node = body.node(id);
        key.add(id.index());
        key.addOperator(node);
        addIds(node.inputs);
        addIds(node.outputs);
    }
    for (ValueId id : body.values()) {
        const Value& value = body.value(id);
        key.add(id.index());
        key.add(value.type);
        key.add(value.uses.size());
        for (const Use& use : value.uses)
            key.add(uint64_t{use.node.index()} << 32U | use.slot);
        if (value.constant)
            key.add(*value.constant);
        key.add(value.symbolicContents ? text(*value.symbolicContents) : std::string());
    }
    addIds(body.inputs());
    addIds(body.outputs());
    for (const TensorPtr& constant : request.constants) {
        key.add(uint64_t{constant != nullptr});
        if (constant)
            key.add(*constant);
    }
    return key.isOpaque() ? std::nullopt : std::optional(key.take());
}

LowerResult LowerCache::lowerWithin(const LowerRequest& request, NumericClass allowed) {
    Lowered lowered = lower(request, allowed);
    if (!lowered.known)
        return std::move(*lowered.result);
    KernelProgram program = lowered.known->program;
    program.body = request.body;
    note(program.body, lowered.known->number);
    return program;
}

LowerResult LowerCache::lowerShared(LowerRequest& request, NumericClass allowed) {
    Lowered lowered = lower(request, allowed);
    if (!lowered.known)
        return std::move(*lowered.result);
    request.body = lowered.known->program.body;
    return lowered.known->program;
}

LowerCache::Lowered LowerCache::lower(const LowerRequest& request, NumericClass allowed) {
    std::optional<std::string> key = keyOf(request);
    if (!key)
        return {nullptr, fuselage::lowerWithin(request, allowed)};
    *key += static_cast<char>(allowed);
    auto known = m_programs.find(*key);
    if (known != m_programs.end()) {
        ++m_hits;
        return {&known->second, std::nullopt};
    }
    LowerResult result = fuselage::lowerWithin(request, allowed);
    // Refusals name nodes; a Library program refers to one.
    if (const auto* program = std::get_if<KernelProgram>(&result);
        program && !std::holds_alternative<Library>(program->code)) {
        const auto number = static_cast<uint32_t>(m_programs.size() + 1);
        note(program->body, number);
        m_programs.emplace(std::move(*key), Known{*program, number});
    }
    return {nullptr, std::move(result)};
}

void LowerCache::note(const std::shared_ptr<const Graph>& body, uint32_t number) {
    auto [known, isNew] = m_numbers.try_emplace(body, number);
    if (!isNew && known->second != number)
        known->second = 0; // lowered for two classes: the body does not tell which
}

uint32_t LowerCache::alike(const KernelProgram& program) const {
    auto known = m_numbers.find(program.body);
    return known == m_numbers.end() ? 0 : known->second;
}

} // namespace fuselage
