// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/theme_watch.h"

#include "app/studio/graph_view/colours.h"

#include <QApplication>
#include <QEvent>

namespace fuselage::studio {

namespace {

class ThemeWatch final : public QObject {
public:
    ThemeWatch(QWidget& widget, std::function<void()> run)
        : QObject(&widget), m_run(std::move(run)) {
        widget.installEventFilter(this);
    }

protected:
    bool eventFilter(QObject*, QEvent* event) override {
        // What is run may set the widget's own palette, which says so again.
        if (event->type() == QEvent::PaletteChange && isDark() != m_isDark) {
            m_isDark = isDark();
            m_run();
        }
        return false;
    }

private:
    static bool isDark() { return Colours(QApplication::palette()).dark(); }

    std::function<void()> m_run;
    bool m_isDark = isDark();
};

} // namespace

void whenThemeChanges(QWidget& widget, std::function<void()> run) {
    new ThemeWatch(widget, std::move(run));
}

} // namespace fuselage::studio
