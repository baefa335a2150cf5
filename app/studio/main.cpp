// SPDX-License-Identifier: Apache-2.0
// fuselage-studio [MODEL] [RULES.fuse ...]: the desktop application.
#include "app/studio/layout/worker.h"
#include "app/studio/shell/main_window.h"

#include <QApplication>
#include <QCommandLineParser>
#include <string_view>

int main(int argc, char** argv) {
#ifdef FUSELAGE_HAVE_GRAPHVIZ
    if (argc == 2 && std::string_view(argv[1]) == "--layout-worker")
        return fuselage::studio::runLayoutWorker();
#endif
    QApplication app(argc, argv);
    QApplication::setApplicationName("fuselage-studio");
    QApplication::setApplicationDisplayName("Fuselage Studio");
    QApplication::setApplicationVersion(FUSELAGE_VERSION);
    QApplication::setOrganizationName("fuselage");
    QCommandLineParser parser;
    parser.setApplicationDescription(
        "See an ONNX model before and after operator fusion, and change the rules while looking.");
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument("files", "a model and any .fuse files or folders of them",
                                 "[MODEL] [RULES ...]");
    parser.process(app);

    QSettings settings;
    fuselage::studio::MainWindow window(settings);
    window.show();
    window.openFiles(parser.positionalArguments());
    return QApplication::exec();
}
