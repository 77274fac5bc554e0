/* app/version.h: our version, as the build says it. */
#pragma once

#ifndef TOOLWIRE_VERSION
#error "the build defines TOOLWIRE_VERSION"
#endif
