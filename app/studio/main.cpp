// SPDX-License-Identifier: Apache-2.0
// fuselage-studio [MODEL] [RULES.fuse ...]: the desktop application; --export FILE without a
// window.
#include "app/studio/exports/headless.h"
#include "app/studio/layout/worker.h"
#include "app/studio/session/allocator.h"
#include "app/studio/session/lost_pages.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/options_dialog.h"
#include "app/studio/workbench/drawn_icon.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>
#include <clocale>
#include <cstdio>
#include <initializer_list>
#include <string_view>

namespace {

/// Before QApplication is made: neither the worker nor an export needs a display.
bool asked(int argc, char** argv, std::string_view option) {
    for (int i = 1; i < argc; ++i)
        if (std::string_view(argv[i]).substr(0, option.size()) == option)
            return true;
    return false;
}

/// The self-contained archive brings fonts for systems that have none.
void findFonts() {
    const QString program = QFileInfo(QStringLiteral("/proc/self/exe")).symLinkTarget();
    const QString brought =
        QFileInfo(program).path() + QStringLiteral("/../share/fuselage/fonts.conf");
    if (!qEnvironmentVariableIsSet("FONTCONFIG_FILE") && QFileInfo::exists(brought))
        qputenv("FONTCONFIG_FILE", QFileInfo(brought).canonicalFilePath().toLocal8Bit());
}

bool said(int argc, char** argv, std::initializer_list<std::string_view> words) {
    for (int i = 1; i < argc; ++i)
        for (std::string_view word : words)
            if (word == argv[i])
                return true;
    return false;
}

} // namespace

int main(int argc, char** argv) {
    fuselage::studio::prepareAllocator();
    if (argc == 2 && asked(argc, argv, "--layout-worker")) {
#ifdef FUSELAGE_HAVE_GRAPHVIZ
        return fuselage::studio::runLayoutWorker();
#else
        return 1;
#endif
    }
    const bool says = said(argc, argv, {"--help", "-h", "--help-all", "--version", "-v"});
    if ((says || asked(argc, argv, "--export")) && !qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
#ifdef Q_OS_LINUX
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM") && qEnvironmentVariableIsEmpty("DISPLAY") &&
        qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY")) {
        std::fputs("fuselage-studio: there is no display to open a window on\n"
                   "  fix: run it in a desktop session, or write a file by --export FILE MODEL\n",
                   stderr);
        return 2;
    }
#endif
    findFonts();
    QApplication app(argc, argv);
    std::setlocale(LC_NUMERIC, "C"); // Qt took the person's; files and rules write 0.5
    QApplication::setApplicationName("fuselage-studio");
    QApplication::setApplicationDisplayName("Fuselage Studio");
    QApplication::setApplicationVersion(FUSELAGE_VERSION);
    QApplication::setOrganizationName("fuselage");
    QGuiApplication::setDesktopFileName("fuselage-studio"); // Wayland finds the icon by it
    QApplication::setWindowIcon(fuselage::studio::programIcon());
    QCommandLineParser parser;
    parser.setApplicationDescription(
        "See an ONNX model before and after operator fusion, and change the rules while looking.");
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument("files", "models and any .fuse files or folders of them",
                                 "[MODEL ...] [RULES ...]");
    QCommandLineOption exporting("export", "write FILE, its ending says what, without a window",
                                 "FILE");
    parser.addOption(exporting);
    QCommandLineOption sizes("dim", "size of an open dimension, N=4, or of an axis, x.2=320",
                             "NAME=NUMBER");
    parser.addOption(sizes);
    if (!parser.parse(QApplication::arguments())) {
        QString wrong = parser.errorText();
        wrong[0] = wrong[0].toLower();
        std::fprintf(stderr, "fuselage-studio: %s\n  fix: --help lists what there is\n",
                     qPrintable(wrong));
        return 2;
    }
    parser.process(app); // help and version
    const auto dims = fuselage::studio::dimsFromText(parser.values(sizes).join(", "));
    if (!dims) {
        std::fputs("fuselage-studio: write dimensions as --dim NAME=NUMBER, e.g. --dim N=4\n",
                   stderr);
        return 2;
    }
    if (parser.isSet(exporting))
        return fuselage::studio::exportHeadless(parser.value(exporting),
                                                parser.positionalArguments(), *dims);

    QSettings settings;
    fuselage::studio::applyAppearance(fuselage::studio::chosenAppearance(settings));
    fuselage::studio::MainWindow window(settings);
    const fuselage::studio::LostPages lost(window.session());
    window.show();
    window.restoreRuns();
    if (!dims->empty()) {
        fuselage::studio::SessionOptions options = window.session().options();
        options.fuse.dims = *dims;
        window.session().setOptions(options);
    }
    if (parser.positionalArguments().isEmpty())
        window.restoreOpenFiles();
    else
        window.openFiles(parser.positionalArguments());
    return QApplication::exec();
}
