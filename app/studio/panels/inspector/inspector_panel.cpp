// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/inspector/inspector_panel.h"

#include "app/pipeline/kernel_text.h"
#include "app/studio/panels/inspector/inspector_text.h"

#include <QTextBrowser>

namespace fuselage::studio {

namespace {

/// Follows a link of the Inspector.
void follow(const QString& target, Workbench& workbench) {
    QString kind = target.section(':', 0, 0), rest = target.section(':', 1);
    if (kind == "node")
        workbench.selection.selectAny({rest});
    else if (kind == "rule")
        workbench.selection.selectRule(rest);
    else if (kind == "place")
        Q_EMIT workbench.session.placeWanted(rest.section(':', 0, -2),
                                             rest.section(':', -1).toInt());
}

} // namespace

QWidget* makeInspectorPanel(Workbench& workbench, QWidget* parent) {
    auto* browser = new QTextBrowser(parent);
    browser->setAccessibleName(QObject::tr("inspector"));
    browser->setOpenLinks(false);
    browser->setFrameShape(QFrame::NoFrame);
    auto texts = std::make_shared<bool>(false); // of kernels are shown
    auto show = [browser, texts, &workbench] {
        const app::Report* report = workbench.session.report();
        KernelTextOf textOf;
        if (*texts && workbench.session.snapshot())
            textOf = [snapshot = workbench.session.snapshot()](size_t kernel) {
                auto profile = deviceProfile(snapshot->device.toStdString());
                return profile ? app::kernelText(*snapshot->analysis.after.plan, kernel, *profile)
                               : profile.error().text();
            };
        browser->setHtml(report ? inspectorHtml(*report, workbench.selection.selection(), textOf)
                                : QString());
    };
    QObject::connect(&workbench.session, &Session::reportChanged, browser, show);
    QObject::connect(&workbench.selection, &SelectionHub::changed, browser, show);
    QObject::connect(browser, &QTextBrowser::anchorClicked, browser,
                     [texts, show, &workbench](const QUrl& url) {
                         QString target = QUrl::fromPercentEncoding(url.toEncoded());
                         if (!target.startsWith("text:"))
                             return follow(target, workbench);
                         *texts = target == "text:on";
                         show();
                     });
    show();
    return browser;
}

} // namespace fuselage::studio
