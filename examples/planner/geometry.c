#include "geometry.h"

Point point_direction(Point a, Point b)
{
    double length = point_distance(a, b);

    return (Point){(b.x - a.x) / length, (b.y - a.y) / length};
}

bool segments_cross(Point a, Point b, Point c, Point d, double *ret_at)
{
    Point ab = point_sub(b, a);
    Point cd = point_sub(d, c);
    double turn = point_cross(ab, cd);
    double t;
    double u;

    if (fabs(turn) < 1e-9 * (1 + hypot(ab.x, ab.y) * hypot(cd.x, cd.y))) {
        return false;
    }
    t = point_cross(point_sub(c, a), cd) / turn;
    u = point_cross(point_sub(c, a), ab) / turn;
    *ret_at = t;
    return t >= 0 && t <= 1 && u >= 0 && u <= 1;
}

double segment_distance(Point a, Point b, Point p, double *ret_at)
{
    Point ab = point_sub(b, a);
    double t = point_dot(point_sub(p, a), ab) / point_dot(ab, ab);

    t = t < 0 ? 0 : t > 1 ? 1 : t;
    *ret_at = t;
    return point_distance(p, point_add(a, ab, t));
}

double polygon_area(const Point *points, size_t n)
{
    double twice = 0;

    for (size_t i = 0; i < n; i++) {
        twice +=
            point_cross(point_sub(points[i], points[0]), point_sub(points[(i + 1) % n], points[0]));
    }
    return twice / 2;
}

bool polygon_contains(const Point *points, size_t n, Point p)
{
    bool is_inside = false;

    for (size_t i = 0, j = n - 1; i < n; j = i++) {
        Point a = points[i];
        Point b = points[j];

        if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) {
            is_inside = !is_inside;
        }
    }
    return is_inside;
}

bool polygon_crosses_itself(const Point *points, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 2; j < n; j++) {
            double at;

            if ((i != 0 || j != n - 1) &&
                segments_cross(points[i], points[i + 1], points[j], points[(j + 1) % n], &at)) {
                return true;
            }
        }
    }
    return false;
}

Point polygon_middle(const Point *points, size_t n, Point inside)
{
    double area = polygon_area(points, n);
    Point sum = {0, 0};

    for (size_t i = 0; i < n; i++) {
        Point a = point_sub(points[i], points[0]);
        Point b = point_sub(points[(i + 1) % n], points[0]);

        sum = point_add(sum, point_add(a, b, 1), point_cross(a, b));
    }
    if (fabs(area) > 1e-9) {
        Point middle = point_add(points[0], sum, 1 / (6 * area));

        if (polygon_contains(points, n, middle)) {
            return middle;
        }
    }
    return inside;
}
