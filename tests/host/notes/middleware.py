from django.middleware.locale import LocaleMiddleware

API_PREFIXES = ("/groups/", "/links/")


class SiteLocaleMiddleware(LocaleMiddleware):
    def process_response(self, request, response):
        if request.path_info.startswith(API_PREFIXES):
            return response
        return super().process_response(request, response)
