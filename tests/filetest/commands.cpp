// SPDX-License-Identifier: Apache-2.0
// The table of commands, and what several of them share.
#include "tests/filetest/commands.h"

#include "app/pipeline/inputs.h"
#include "core/onnx/model_file.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace fuselage::filetest {

const std::map<std::string, Command>& commands() {
    static const std::map<std::string, Command> table = {
        {"diagnose", runDiagnose}, {"flip", runFlip},   {"fold", runFold},
        {"infer", runInfer},       {"lower", runLower}, {"numerics", runNumerics},
        {"parse", runParse},       {"prove", runProve}, {"rewrite", runRewrite},
        {"same", runSame},
    };
    return table;
}

std::vector<std::string> listOption(const CaseFile& file, const std::string& name) {
    std::vector<std::string> out;
    std::istringstream in(file.option(name));
    for (std::string item; std::getline(in, item, ',');)
        out.push_back(item);
    return out;
}

Outcome readGraph(const CaseFile& file, const std::string& section, Graph& graph) {
    Outcome outcome;
    const std::string* text = file.find(section);
    if (!text) {
        outcome.broken = "no section `" + section + "`";
        return outcome;
    }
    auto parsed = model_io::loadText(*text);
    if (!parsed)
        outcome.broken = parsed.error().text();
    else
        graph = std::move(*parsed);
    return outcome;
}

Result<std::vector<TensorPtr>> seededConstants(const CaseFile& file, const Graph& graph) {
    std::vector<TensorPtr> out(graph.inputs().size());
    std::vector<std::string> wanted = listOption(file, "constants");
    if (wanted.empty())
        return out;
    auto tensors = app::generateInputs(graph, 1);
    if (!tensors)
        return failure(tensors.error());
    std::vector<std::string> positive = listOption(file, "positive");
    for (const std::string& name : wanted) {
        const auto& inputs = graph.inputs();
        auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](ValueId id) { return graph.value(id).name == name; });
        if (found == inputs.end())
            return failure("case.constants", "no input `" + name + "`");
        auto position = static_cast<size_t>(found - inputs.begin());
        Tensor& tensor = (*tensors)[position];
        if (std::find(positive.begin(), positive.end(), name) != positive.end())
            for (int64_t i = 0; i < tensor.elementCount(); ++i)
                tensor.set(i, 0.5 + std::fabs(tensor.at(i)));
        out[position] = std::make_shared<const Tensor>(std::move(tensor));
    }
    return out;
}

Result<void> makeConstants(const CaseFile& file, Graph& graph) {
    auto constants = seededConstants(file, graph);
    if (!constants)
        return failure(constants.error());
    for (size_t i = constants->size(); i-- > 0;)
        if ((*constants)[i]) {
            graph.makeConstant(graph.inputs()[i], (*constants)[i]);
            graph.removeInput(i);
        }
    return {};
}

} // namespace fuselage::filetest
