// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/canvas_access.h"

#include "app/studio/graph_view/canvas.h"

#include <QAccessibleWidget>
#include <QHash>
#include <QPointer>
#include <QWindow>
#include <algorithm>

namespace fuselage::studio {

namespace {

/// One box. Lives as long as its canvas shows the same drawing.
class BoxAccess final : public QAccessibleInterface {
public:
    BoxAccess(Canvas* canvas, uint32_t box)
        : m_canvas(canvas), m_drawing(canvas->drawing()), m_box(box) {}

    bool isValid() const override { return m_canvas && m_canvas->drawing() == m_drawing; }

    QObject* object() const override { return nullptr; }

    QWindow* window() const override {
        return m_canvas ? m_canvas->window()->windowHandle() : nullptr;
    }

    QAccessibleInterface* parent() const override {
        return QAccessible::queryAccessibleInterface(m_canvas);
    }

    QAccessibleInterface* child(int) const override { return nullptr; }

    QAccessibleInterface* childAt(int, int) const override { return nullptr; }

    int childCount() const override { return 0; }

    int indexOfChild(const QAccessibleInterface*) const override { return -1; }

    QAccessible::Role role() const override { return QAccessible::ListItem; }

    QString text(QAccessible::Text kind) const override {
        if (!isValid() || (kind != QAccessible::Name && kind != QAccessible::Description))
            return {};
        const scene::Box& box = m_drawing->scene().boxes[m_box];
        QStringList words{QString::fromStdString(box.title)};
        if (kind == QAccessible::Description)
            for (const std::string& line : box.lines)
                words << QString::fromStdString(line);
        else if (box.name != box.title)
            words << QString::fromStdString(box.name);
        for (const scene::Badge& badge : box.badges)
            words << QString::fromStdString(badge.text);
        words.removeAll(QString());
        return words.isEmpty() ? QString::fromStdString(box.id) : words.join(", ");
    }

    void setText(QAccessible::Text, const QString&) override {}

    QRect rect() const override {
        if (!isValid())
            return {};
        const scene::Rect& r = m_drawing->scene().boxes[m_box].rect;
        const Viewport& view = m_canvas->viewport();
        QPointF middle(m_canvas->width() / 2.0, m_canvas->height() / 2.0);
        QPointF corner = (QPointF(r.x, r.y) - view.centre) * view.zoom + middle;
        QRect here = QRectF(corner, QSizeF(r.w, r.h) * view.zoom).toAlignedRect();
        return here.translated(m_canvas->mapToGlobal(QPoint(0, 0)));
    }

    QAccessible::State state() const override {
        QAccessible::State out;
        out.selectable = true;
        out.invalid = !isValid();
        if (isValid()) {
            const auto& selected = m_canvas->style().selected;
            out.selected = m_box < selected.size() && selected[m_box];
            out.focused = m_canvas->hasFocus() && m_canvas->current() == m_box;
        }
        return out;
    }

private:
    QPointer<Canvas> m_canvas;
    DrawingPtr m_drawing;
    uint32_t m_box;
};

class CanvasAccess final : public QAccessibleWidget {
public:
    explicit CanvasAccess(Canvas* canvas)
        : QAccessibleWidget(canvas, QAccessible::List), m_canvas(canvas) {}

    ~CanvasAccess() override { forget(); }

    int childCount() const override { return static_cast<int>(boxes().size()); }

    QAccessibleInterface* child(int index) const override {
        if (index < 0 || index >= childCount())
            return nullptr;
        QAccessible::Id& id = m_ids[index];
        if (id == 0)
            id = QAccessible::registerAccessibleInterface(
                new BoxAccess(m_canvas, m_boxes[static_cast<size_t>(index)]));
        return QAccessible::accessibleInterface(id);
    }

    int indexOfChild(const QAccessibleInterface* child) const override {
        for (auto it = m_ids.cbegin(); it != m_ids.cend(); ++it)
            if (QAccessible::accessibleInterface(it.value()) == child)
                return it.key();
        return -1;
    }

    QAccessibleInterface* childAt(int x, int y) const override {
        if (!m_canvas->drawing())
            return nullptr;
        QPointF at = m_canvas->toScene(m_canvas->mapFromGlobal(QPoint(x, y)));
        uint32_t box = m_canvas->drawing()->hits(m_canvas->side()).boxAt({at.x(), at.y()});
        auto found = std::find(boxes().begin(), boxes().end(), box);
        return found == m_boxes.end() ? nullptr : child(static_cast<int>(found - m_boxes.begin()));
    }

private:
    void forget() const {
        for (QAccessible::Id id : std::as_const(m_ids))
            QAccessible::deleteAccessibleInterface(id);
        m_ids.clear();
    }

    /// Of the canvas's side, in the order of the drawing.
    const std::vector<uint32_t>& boxes() const {
        if (m_of == m_canvas->drawing())
            return m_boxes;
        forget();
        m_of = m_canvas->drawing();
        m_boxes.clear();
        for (uint32_t b = 0; m_of && b < m_of->scene().boxes.size(); ++b)
            if (m_of->scene().boxes[b].sides & m_canvas->side())
                m_boxes.push_back(b);
        return m_boxes;
    }

    Canvas* m_canvas;
    mutable DrawingPtr m_of;
    mutable std::vector<uint32_t> m_boxes;
    mutable QHash<int, QAccessible::Id> m_ids;
};

QAccessibleInterface* makeAccess(const QString& type, QObject* object) {
    auto* canvas =
        type == QLatin1String("fuselage::studio::Canvas") ? qobject_cast<Canvas*>(object) : nullptr;
    return canvas ? new CanvasAccess(canvas) : nullptr;
}

} // namespace

void installCanvasAccess() {
    static bool once = [] {
        QAccessible::installFactory(makeAccess);
        return true;
    }();
    (void)once;
}

} // namespace fuselage::studio
