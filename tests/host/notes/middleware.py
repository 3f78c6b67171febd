import re

from django.middleware.locale import LocaleMiddleware

API_PATHS = re.compile("/(?:groups|links)(?:/|$)")


class SiteLocaleMiddleware(LocaleMiddleware):
    def process_response(self, request, response):
        if API_PATHS.match(request.path_info):
            return response
        return super().process_response(request, response)
