// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/outline/profile_command.h"

#include "app/report/ort_profile.h"
#include "app/studio/workbench/file_dialogs.h"
#include "core/support/file.h"

namespace fuselage::studio {

namespace {

/// How much of the profile is about what is open: its graph may have been optimised first.
Problem fitOf(const QHash<QString, double>& times, const app::Report& report) {
    qsizetype known = 0;
    for (const app::GraphNodeReport& node : report.before.graph.nodes)
        known += times.contains(QString::fromStdString(node.name));
    Problem out;
    out.code = QStringLiteral("profile.nodes");
    out.severity = known > 0 ? Severity::Note : Severity::Warning;
    out.message = QObject::tr("the profile has times of %1 nodes, and %2 of them are in this model")
                      .arg(times.size())
                      .arg(known);
    if (known < times.size())
        out.fix = QObject::tr("profile with optimisations off to have the names of the model");
    return out;
}

} // namespace

void openProfile(Workbench& workbench, JobLane& lane, const QString& path) {
    Workbench* bench = &workbench;
    lane.start([bench, path](Progress&) -> JobLane::Delivery {
        auto text = readFile(path.toStdString());
        auto read = text ? app::readOrtProfile(*text)
                         : Result<std::map<std::string, double>>(failure(text.error()));
        if (!read)
            return [bench, path, error = read.error()] {
                bench->session.addProblem(problemOf(error, path));
            };
        QHash<QString, double> times;
        for (const auto& [node, seconds] : *read)
            times[QString::fromStdString(node)] = seconds;
        return [bench, times] {
            bench->session.removeProblems(QStringLiteral("profile."));
            bench->marks.setTimes(times);
            if (const app::Report* report = bench->session.report())
                bench->session.addProblem(fitOf(times, *report));
        };
    });
}

void addProfileCommand(Workbench& workbench, QWidget* window) {
    auto* lane = new JobLane(window);
    workbench.commands.add(
        {"file.openProfile", "File", QObject::tr("Open ONNX Runtime profile ..."), {}},
        [lane, window, &workbench] {
            askOpenFiles(window, QObject::tr("Open a profile of ONNX Runtime"),
                         QObject::tr("profiles (*.json);;all files (*)"),
                         [lane, &workbench](const QStringList& paths) {
                             if (!paths.isEmpty())
                                 openProfile(workbench, *lane, paths.first());
                         });
        });
    // Names of another model say nothing.
    QObject::connect(&workbench.session, &Session::modelOpened, lane, [&workbench] {
        workbench.session.removeProblems(QStringLiteral("profile."));
        workbench.marks.setTimes({});
    });
}

} // namespace fuselage::studio
